<?php

declare(strict_types=1);

// One fetch: how far it has come, and the line that tells its end.
final class Fetch
{
    private readonly float $wall;
    private readonly int $steady;
    private int $bytes = 0;
    private bool $body = false; // the last request's headers are there
    private int $requests = 0;

    public function __construct(private readonly string $url)
    {
        $this->wall = microtime(true);
        $this->steady = hrtime(true);
    }

    public function prepare(CurlHandle $handle): void
    {
        curl_setopt($handle, CURLOPT_URL, $this->url);
        curl_setopt($handle, CURLOPT_PREREQFUNCTION, function (CurlHandle $handle): int {
            $this->requests = 1 + curl_getinfo($handle, CURLINFO_REDIRECT_COUNT);
            $this->body = false;
            return CURL_PREREQFUNC_OK;
        });
        curl_setopt($handle, CURLOPT_HEADERFUNCTION, function (CurlHandle $handle, string $line): int {
            if (trim($line, "\r\n") === '' && curl_getinfo($handle, CURLINFO_RESPONSE_CODE) >= 200) {
                $this->body = true;
            }
            return strlen($line);
        });
        // Counted and dropped. libcurl does not hand on the bodies of redirects that it follows.
        curl_setopt($handle, CURLOPT_WRITEFUNCTION, function (CurlHandle $handle, string $data): int {
            $this->bytes += strlen($data);
            return strlen($data);
        });
    }

    // The status, or what ended the fetch with libcurl's own words.
    public function code(CurlHandle $handle, int $result): string
    {
        if ($result === CURLE_OK) {
            return sprintf('%03d', curl_getinfo($handle, CURLINFO_RESPONSE_CODE));
        }
        $words = curl_error($handle) ?: (string) curl_strerror($result);
        $errno = curl_getinfo($handle, CURLINFO_OS_ERRNO);
        return Failures::outcome($result, $words, $errno, $this->phase($handle), $this->requests > 0) . ": $words";
    }

    public function print(string $code): void
    {
        $duration = (hrtime(true) - $this->steady) / 1e6;
        $start = DateTimeImmutable::createFromFormat('U.u', sprintf('%.6F', $this->wall))->format('Y-m-d\TH:i:s.u\Z');
        $field = substr(preg_replace('/[\s,[:cntrl:]]+/', ' ', $code), 0, 300);
        fwrite(STDOUT, sprintf("%s,%s,%s,%.3F,%d\n", $this->url, $field, $start, $duration, $this->bytes));
    }

    private function phase(CurlHandle $handle): Phase
    {
        if ($this->requests === 1 + curl_getinfo($handle, CURLINFO_REDIRECT_COUNT)) {
            return $this->body ? Phase::Body : Phase::Headers;
        }
        // Of a TLS handshake libcurl tells nothing until it is done.
        if (str_starts_with(strtolower(curl_getinfo($handle, CURLINFO_EFFECTIVE_URL)), 'https:')) {
            return Phase::ConnectingOrTls;
        }
        return Phase::Connecting;
    }
}
