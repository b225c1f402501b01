<?php

declare(strict_types=1);

// Keeps up to a number of fetches in flight, as long as standard input has URLs.
final class Fetcher
{
    // How long a line of standard input waits while there is a free slot: libcurl waits for its own sockets only.
    private const POLL_SECONDS = 0.01;
    private const LONGEST_URL = 65_536;

    private readonly CurlMultiHandle $multi;
    private readonly array $options;
    /** @var SplObjectStorage<CurlHandle, Fetch> */
    private SplObjectStorage $open;
    private bool $ended = false;

    public function __construct(private readonly int $concurrency, float $timeout, string $userAgent, ?string $caFile)
    {
        $this->multi = curl_multi_init();
        // No more connections than fetches: by default four times as many are kept.
        curl_multi_setopt($this->multi, CURLMOPT_MAXCONNECTS, $concurrency);
        $this->open = new SplObjectStorage();
        $this->options = [
            CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_1_1,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_REDIR_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_FOLLOWLOCATION => true,
            CURLOPT_MAXREDIRS => 10,
            CURLOPT_TIMEOUT_MS => (int) ceil($timeout * 1000), // all of it: names, connecting, redirects, body
            // A lookup that the deadline cut short is left to its thread; else everybody waits for that one.
            CURLOPT_QUICK_EXIT => true,
            CURLOPT_USERAGENT => $userAgent,
            // Not CURLOPT_ENCODING, which would also decode what comes encoded all the same.
            CURLOPT_HTTPHEADER => ['Accept: */*', 'Accept-Encoding: identity'],
        ] + ($caFile === null ? [] : [CURLOPT_CAINFO => $caFile]);
    }

    public function run(): void
    {
        stream_set_blocking(STDIN, false);
        do {
            $this->fill();
            curl_multi_exec($this->multi, $running);
            while ($message = curl_multi_info_read($this->multi)) {
                $this->finish($message['handle'], $message['result']);
            }
            $this->wait($running);
        } while (!$this->ended || count($this->open) > 0);
    }

    private function fill(): void
    {
        while (!$this->ended && count($this->open) < $this->concurrency) {
            $url = stream_get_line(STDIN, self::LONGEST_URL + 1, "\n");
            if ($url === false) {
                $this->ended = feof(STDIN);
                return;
            }
            if ($url !== '') {
                $this->start($url);
            }
        }
    }

    private function start(string $url): void
    {
        $fetch = new Fetch($url);
        $handle = curl_init();
        curl_setopt_array($handle, $this->options);
        try {
            $fetch->prepare($handle);
        } catch (ValueError $e) { // a NUL
            $fetch->print('invalid_url: ' . $e->getMessage());
            return;
        }
        curl_multi_add_handle($this->multi, $handle);
        $this->open[$handle] = $fetch;
    }

    private function finish(CurlHandle $handle, int $result): void
    {
        $fetch = $this->open[$handle];
        $code = $fetch->code($handle, $result);
        // Before the line, which frees the slot.
        curl_multi_remove_handle($this->multi, $handle);
        unset($this->open[$handle]);
        $fetch->print($code);
    }

    private function wait(int $running): void
    {
        $wanting = !$this->ended && count($this->open) < $this->concurrency;
        if ($running > 0) {
            curl_multi_select($this->multi, $wanting ? self::POLL_SECONDS : 1.0);
        } elseif ($wanting && count($this->open) === 0) {
            $read = [STDIN];
            $none = null;
            stream_select($read, $none, $none, null);
        }
    }
}
