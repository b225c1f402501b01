<?php

// Fetches the URLs on standard input with ext/curl's multi interface; one line of result each on standard output.

declare(strict_types=1);

require __DIR__ . '/Failures.php';
require __DIR__ . '/Fetch.php';
require __DIR__ . '/Fetcher.php';

ini_set('display_errors', 'stderr'); // else warnings are lines of the result
set_error_handler(static function (int $severity, string $message, string $file, int $line): never {
    throw new ErrorException($message, 0, $severity, $file, $line);
});

function describe(): string
{
    $curl = curl_version();
    // Nothing in PHP names the C library; musl's loader has a name of its own.
    $libc = glob('/lib/ld-musl-*') ? 'musl' : 'glibc';
    return json_encode([
        'name' => 'php/curl',
        'runtime' => 'PHP ' . PHP_VERSION,
        'libraries' => ["libcurl {$curl['version']}"],
        'tls_library' => $curl['ssl_version'],
        'libc' => $libc,
    ], JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES);
}

function setting(string $name, int $filter, mixed $least): int|float
{
    $value = filter_var(getenv($name), $filter);
    if ($value === false || $value < $least) {
        fwrite(STDERR, "$name is not a number of at least $least\n");
        exit(2);
    }
    return $value;
}

if (array_slice($argv, 1) === ['--describe']) {
    echo describe(), "\n";
    exit(0);
}

$fetcher = new Fetcher(
    setting('CONCURRENCY', FILTER_VALIDATE_INT, 1),
    setting('REQUEST_TIMEOUT', FILTER_VALIDATE_FLOAT, 0.001),
    (string) getenv('USER_AGENT'),
    getenv('CA_FILE') ?: null,
);
$fetcher->run();
