package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
)

// classify names the outcome of lib/CONTRACT.md that r.err is. What net/http makes without a type of its
// own is told by the phase it happened in, and where that is not enough by the text.
func classify(r result) string {
	at, err := r.phase, r.err
	switch {
	case errors.Is(err, errRedirectLimit):
		return "redirect_limit"
	case errors.Is(err, errRedirectInvalid), strings.Contains(err.Error(), "failed to parse Location header"):
		return "redirect_invalid"
	case at == phaseURL:
		return "invalid_url"
	case r.expired, isTimeout(err):
		return classifyTimeout(at)
	}
	if outcome := classifyNetwork(err); outcome != "" {
		return outcome
	}
	switch at {
	case phaseRequest: // refused before anything was looked up, as port 99999 is
		if r.redirected {
			return "redirect_invalid"
		}
		return "invalid_url"
	case phaseTLS:
		return "tls_handshake"
	case phaseHeaders, phaseBody:
		return classifyHTTP(at, err)
	}
	return "client_error"
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, syscall.ETIMEDOUT) || (errors.As(err, &timeout) && timeout.Timeout())
}

func classifyTimeout(at phase) string {
	switch at {
	case phaseRequest, phaseDNS:
		return "dns_timeout"
	case phaseConnect:
		return "connect_timeout"
	case phaseBody:
		return "timeout_in_body"
	}
	return "timeout_before_headers"
}

// classifyNetwork knows the errors that have a type or a number of their own.
func classifyNetwork(err error) string {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &dns):
		if dns.IsNotFound {
			return "dns_not_found"
		}
		return "dns_failure"
	case errors.As(err, &certificate):
		return "tls_certificate"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connect_refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "connect_unreachable"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection_reset"
	}
	return ""
}

func classifyHTTP(at phase, err error) string {
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		strings.Contains(err.Error(), "unexpected EOF reading trailer")
	switch {
	case ended && at == phaseBody:
		return "body_truncated"
	case ended:
		return "connection_reset"
	case strings.Contains(err.Error(), "server response headers exceeded"), errors.Is(err, http.ErrLineTooLong):
		return "header_too_large"
	}
	return "response_malformed"
}
