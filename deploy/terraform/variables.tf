variable "hosts" {
  description = "Number of hosts."
  type        = number
  default     = 2
  validation {
    condition     = var.hosts >= 1 && var.hosts <= 100 && floor(var.hosts) == var.hosts
    error_message = "hosts: a whole number from 1 to 100."
  }
}

variable "operator_cidr" {
  description = "Who reaches the hosts, as in 198.51.100.7/32."
  type        = string
  validation {
    condition     = can(cidrhost(var.operator_cidr, 0)) && !endswith(var.operator_cidr, "/0")
    error_message = "operator_cidr: the operator's address, as in 198.51.100.7/32, and not the whole Internet."
  }
}

variable "public_key_file" {
  description = "SSH public key of the operator."
  type        = string
  default     = "~/.ssh/id_ed25519.pub"
}

variable "region" {
  type    = string
  default = "eu-central-1"
}

variable "instance_type" {
  description = "An arm64 type; for another architecture the image in main.tf has to change too."
  type        = string
  default     = "c7g.medium"
}
