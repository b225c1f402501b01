module fetchbench/net-http

go 1.26
