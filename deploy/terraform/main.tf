# N hosts for a fleet in AWS: c7g.medium (1 vCPU, arm64), Debian 12, reachable for the operator only.
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}

provider "aws" {
  region = var.region
}

# 136693071363 is Debian.
data "aws_ami" "debian" {
  most_recent = true
  owners      = ["136693071363"]
  filter {
    name   = "name"
    values = ["debian-12-arm64-*"]
  }
  filter {
    name   = "virtualization-type"
    values = ["hvm"]
  }
}

resource "aws_key_pair" "operator" {
  key_name_prefix = "fetchbench-"
  public_key      = file(pathexpand(var.public_key_file))
}

resource "aws_security_group" "fleet" {
  name_prefix = "fetchbench-"
  description = "fetchbench agents: SSH and gRPC from the operator, everything outwards"

  ingress {
    description = "SSH"
    from_port   = 22
    to_port     = 22
    protocol    = "tcp"
    cidr_blocks = [var.operator_cidr]
  }
  ingress {
    description = "agent (gRPC, mutual TLS)"
    from_port   = 7311
    to_port     = 7311
    protocol    = "tcp"
    cidr_blocks = [var.operator_cidr]
  }
  egress {
    description = "the web that is measured"
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_instance" "host" {
  count                       = var.hosts
  ami                         = data.aws_ami.debian.id
  instance_type               = var.instance_type
  key_name                    = aws_key_pair.operator.key_name
  vpc_security_group_ids      = [aws_security_group.fleet.id]
  associate_public_ip_address = true
  user_data                   = file("${path.module}/../cloud-init.yaml")

  # Targets fetch what they are told: the metadata service takes no plain GET, and no container reaches it.
  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }
  root_block_device {
    volume_size = 20
    volume_type = "gp3"
    encrypted   = true
  }
  tags = {
    Name = format("fetchbench-%02d", count.index + 1)
  }

  lifecycle {
    # A newer image is no reason to make hosts anew.
    ignore_changes = [ami]
  }
}
