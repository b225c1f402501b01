<?php

declare(strict_types=1);

// How far a fetch had come when it failed.
enum Phase
{
    case Connecting;      // or looking up the name
    case ConnectingOrTls;
    case Headers;         // those of the last request have not all come
    case Body;
}

// The contract's names of libcurl's failures. Where one error stands for several, its text tells them apart.
final class Failures
{
    private const PEER_FAILED_VERIFICATION = 60; // ext/curl knows the number by its old names only
    private const TOO_LARGE = 100;
    private const ECONNREFUSED = 111;
    private const UNREACHABLE = [99, 101, 113]; // EADDRNOTAVAIL, ENETUNREACH, EHOSTUNREACH
    private const ECONNRESET = 104;

    public static function outcome(int $error, string $words, int $errno, Phase $phase, bool $redirected): string
    {
        return match ($error) {
            CURLE_OPERATION_TIMEDOUT => self::timeout($words, $phase),
            CURLE_COULDNT_RESOLVE_HOST => 'dns_not_found', // whatever getaddrinfo says
            CURLE_COULDNT_CONNECT => self::connect($errno),
            CURLE_SSL_CONNECT_ERROR => 'tls_handshake',
            self::PEER_FAILED_VERIFICATION => 'tls_certificate',
            CURLE_URL_MALFORMAT => self::url($redirected),
            CURLE_UNSUPPORTED_PROTOCOL => $phase === Phase::Headers ? 'response_malformed' : self::url($redirected),
            CURLE_TOO_MANY_REDIRECTS => 'redirect_limit',
            CURLE_GOT_NOTHING, CURLE_SEND_ERROR => 'connection_reset',
            CURLE_PARTIAL_FILE => 'body_truncated',
            CURLE_FILESIZE_EXCEEDED => 'body_too_large',
            CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING => 'response_malformed',
            self::TOO_LARGE => 'header_too_large',
            CURLE_RECV_ERROR => self::receiving($words, $phase),
            default => 'client_error',
        };
    }

    private static function timeout(string $words, Phase $phase): string
    {
        return match (true) {
            $phase === Phase::Body => 'timeout_in_body',
            $phase === Phase::Headers => 'timeout_before_headers',
            str_starts_with($words, 'Resolving') => 'dns_timeout',
            $phase === Phase::Connecting => 'connect_timeout',
            default => 'timeout_before_headers',
        };
    }

    private static function connect(int $errno): string
    {
        return match (true) {
            $errno === self::ECONNREFUSED => 'connect_refused',
            in_array($errno, self::UNREACHABLE, true) => 'connect_unreachable',
            $errno === self::ECONNRESET => 'connection_reset',
            default => 'client_error',
        };
    }

    private static function url(bool $redirected): string
    {
        return $redirected ? 'redirect_invalid' : 'invalid_url';
    }

    private static function receiving(string $words, Phase $phase): string
    {
        return match (true) {
            (bool) preg_match('/too (large|long)/i', $words) => 'header_too_large',
            (bool) preg_match('/chunk/i', $words) => 'response_malformed',
            $phase === Phase::Body => 'body_truncated',
            default => 'connection_reset',
        };
    }
}
