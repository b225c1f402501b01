package main

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
)

// describe prints what really runs, as one JSON object.
func describe(out io.Writer) {
	json.NewEncoder(out).Encode(map[string]any{
		"name":        "go/net-http",
		"runtime":     strings.Replace(runtime.Version(), "go", "Go ", 1),
		"libraries":   []string{"net/http"},
		"tls_library": "crypto/tls",
		"tls_groups":  tlsGroups(),
		"libc":        "none",
	})
}

// tlsGroups shakes hands with itself, because only a ClientHello tells which key-exchange groups are offered.
func tlsGroups() string {
	client, server := net.Pipe()
	defer client.Close()
	go tls.Client(client, &tls.Config{ServerName: "localhost"}).Handshake()
	var groups []string
	tls.Server(server, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		for _, group := range hello.SupportedCurves {
			groups = append(groups, group.String())
		}
		return nil, errors.New("seen enough")
	}}).Handshake()
	return strings.Join(groups, ":")
}
