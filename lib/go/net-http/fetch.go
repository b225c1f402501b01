package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

const maxRedirects = 10

var (
	errRedirectLimit   = errors.New("more than 10 redirects")
	errRedirectInvalid = errors.New("redirect to what is not an http or https URL")
)

type result struct {
	url        string
	status     int
	err        error
	phase      phase // where it was when err happened
	redirected bool
	expired    bool // the deadline had struck, whatever err says
	start      time.Time
	duration   time.Duration
	bodyLength int64
}

type fetcher struct {
	client    *http.Client
	timeout   time.Duration
	userAgent string
	anchor    time.Time // starts are this wall time plus a steady clock's delta
}

func newFetcher(c config) *fetcher {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	transport := &http.Transport{ // without Proxy: none is taken from the environment
		DialContext:        dial,
		TLSClientConfig:    &tls.Config{RootCAs: c.roots},
		Protocols:          protocols,
		DisableKeepAlives:  true, // every host is met once
		DisableCompression: true,
	}
	return &fetcher{
		client:    &http.Client{Transport: transport, CheckRedirect: checkRedirect},
		timeout:   c.timeout,
		userAgent: c.userAgent,
		anchor:    time.Now(),
	}
}

type deadlineKey struct{}

// dial ends by the deadline of the fetch that it was started for, and so does all use of its connection.
// net/http hands over a context that outlives the fetch, because it would keep the connection for others.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	deadline := ctx.Value(deadlineKey{}).(time.Time)
	dialer := net.Dialer{Deadline: deadline}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(deadline)
}

func checkRedirect(request *http.Request, via []*http.Request) error {
	scheme := request.URL.Scheme
	if (scheme != "http" && scheme != "https") || request.URL.Hostname() == "" {
		return errRedirectInvalid
	}
	if len(via) > maxRedirects { // via holds the first request too
		return errRedirectLimit
	}
	return nil
}

// fetch gets the URL and reads its body to the end, within the timeout.
func (f *fetcher) fetch(url string) result {
	begin := time.Now()
	r := result{url: url, start: f.anchor.Add(begin.Sub(f.anchor))}
	deadline := begin.Add(f.timeout)
	ctx, cancel := context.WithDeadline(context.WithValue(context.Background(), deadlineKey{}, deadline), deadline)
	defer cancel()
	var progress progress
	r.status, r.bodyLength, r.err = f.get(httptrace.WithClientTrace(ctx, progress.trace()), url, &progress)
	r.phase, r.redirected = phase(progress.at.Load()), progress.requests.Load() > 1
	r.duration = time.Since(begin)
	r.expired = r.duration >= f.timeout
	return r
}

func (f *fetcher) get(ctx context.Context, url string, progress *progress) (int, int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, 0, err
	}
	request.Header.Set("User-Agent", f.userAgent)
	request.Header.Set("Accept", "*/*")
	request.Header.Set("Accept-Encoding", "identity")
	response, err := f.client.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	progress.enter(phaseBody)
	length, err := io.Copy(io.Discard, response.Body)
	return response.StatusCode, length, err
}

// phase is how far a fetch has come; with redirects, its last request.
type phase int32

const (
	phaseURL phase = iota
	phaseRequest
	phaseDNS
	phaseConnect
	phaseTLS
	phaseHeaders
	phaseBody
)

// progress follows a fetch by net/http's trace hooks, which are called from several goroutines.
type progress struct{ at, requests atomic.Int32 }

func (p *progress) enter(to phase) { p.at.Store(int32(to)) }

func (p *progress) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) {
			p.requests.Add(1)
			p.enter(phaseRequest)
		},
		DNSStart: func(httptrace.DNSStartInfo) { p.enter(phaseDNS) },
		ConnectStart: func(_, _ string) { // of a second address, perhaps after the first one connected
			p.at.CompareAndSwap(int32(phaseRequest), int32(phaseConnect))
			p.at.CompareAndSwap(int32(phaseDNS), int32(phaseConnect))
		},
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				p.enter(phaseHeaders)
			}
		},
		TLSHandshakeStart: func() { p.enter(phaseTLS) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				p.enter(phaseHeaders)
			}
		},
	}
}
