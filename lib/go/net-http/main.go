// Fetches each URL of standard input once with net/http and prints one line for each.
// The rules are in lib/CONTRACT.md.
package main

import (
	"bufio"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type config struct {
	concurrency int
	timeout     time.Duration
	userAgent   string
	roots       *x509.CertPool // nil: those of the image
}

func readConfig() (config, error) {
	concurrency, err := strconv.Atoi(os.Getenv("CONCURRENCY"))
	if err != nil || concurrency < 1 {
		return config{}, fmt.Errorf("CONCURRENCY=%q is not an integer of at least 1", os.Getenv("CONCURRENCY"))
	}
	seconds, err := strconv.ParseFloat(os.Getenv("REQUEST_TIMEOUT"), 64)
	if err != nil || !(seconds > 0) {
		return config{}, fmt.Errorf("REQUEST_TIMEOUT=%q is not a number of seconds", os.Getenv("REQUEST_TIMEOUT"))
	}
	c := config{
		concurrency: concurrency,
		timeout:     time.Duration(seconds * float64(time.Second)),
		userAgent:   os.Getenv("USER_AGENT"),
	}
	if file := os.Getenv("CA_FILE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return config{}, fmt.Errorf("CA_FILE: %w", err)
		}
		c.roots = x509.NewCertPool()
		if !c.roots.AppendCertsFromPEM(pem) {
			return config{}, fmt.Errorf("CA_FILE: no certificate in %s", file)
		}
	}
	return c, nil
}

// readURLs hands each line over as soon as somebody wants it, so it never reads far ahead.
func readURLs(in io.Reader, urls chan<- string) error {
	defer close(urls)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			urls <- line
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// printer writes whole lines, each as soon as it is there.
type printer struct {
	mu  sync.Mutex
	out io.Writer
}

var plain = strings.NewReplacer(",", ";", "\n", " ", "\r", " ")

func (p *printer) print(r result) {
	code := strconv.Itoa(r.status)
	if r.err != nil {
		code = classify(r) + ": " + plain.Replace(r.err.Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := fmt.Fprintf(p.out, "%s,%s,%s,%.3f,%d\n", r.url, code,
		r.start.UTC().Format("2006-01-02T15:04:05.000000Z"), float64(r.duration.Nanoseconds())/1e6, r.bodyLength)
	if err != nil {
		log.Fatalf("cannot print a result: %v", err)
	}
}

func run(c config, in io.Reader, out io.Writer) error {
	fetcher := newFetcher(c)
	printer := &printer{out: out}
	urls := make(chan string)
	var workers sync.WaitGroup
	for range c.concurrency {
		workers.Go(func() {
			for url := range urls {
				printer.print(fetcher.fetch(url))
			}
		})
	}
	err := readURLs(in, urls)
	workers.Wait()
	return err
}

func main() {
	log.SetFlags(0)
	if len(os.Args) == 2 && os.Args[1] == "--describe" {
		describe(os.Stdout)
		return
	}
	c, err := readConfig()
	if err == nil {
		err = run(c, os.Stdin, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}
