output "hosts" {
  description = "For bin/provision."
  value       = [for host in aws_instance.host : "${host.tags.Name}=admin@${host.public_ip}"]
}

output "host_keys" {
  description = "What tells the hosts' SSH keys, to be compared before they are trusted; a host needs a few minutes to print them."
  value       = [for host in aws_instance.host : "aws ec2 get-console-output --region ${var.region} --latest --output text --instance-id ${host.id} | grep ssh-ed25519"]
}
