# Fetches the URLs on standard input with http.rb in Async's fibers; one line of result each on standard output.

require "async"
require "async/semaphore"
require "etc"
require "http"
require "io/nonblock"
require "json"
require "openssl"
require "time"

require_relative "fetch"

CONCURRENCY = Integer(ENV.fetch("CONCURRENCY", "10"))
TIMEOUT = Float(ENV.fetch("REQUEST_TIMEOUT", "5"))

# Wall-clock times are an anchor plus a steady clock, so that no adjustment shows in them.
WALL = Time.now.utc
def steady = Process.clock_gettime(Process::CLOCK_MONOTONIC)
STEADY = steady
def utc(moment) = (WALL + (moment - STEADY)).iso8601(6)

TLS = OpenSSL::SSL::SSLContext.new.tap do |tls|
  tls.set_params(verify_mode: OpenSSL::SSL::VERIFY_PEER)
  tls.cert_store = OpenSSL::X509::Store.new
  ENV["CA_FILE"] ? tls.cert_store.add_file(ENV["CA_FILE"]) : tls.cert_store.set_default_paths
end

OPTIONS = {
  headers: {
    "User-Agent" => ENV.fetch("USER_AGENT", "fetchbench"),
    "Accept" => "*/*",
    "Accept-Encoding" => "identity"
  },
  follow: { max_hops: 10 },
  ssl_context: TLS
}.freeze

def one_field(text) = text.scrub.gsub(/[\s,[:cntrl:]]+/, " ")[0, 300]

def run
  Sync do |reactor|
    slots = Async::Semaphore.new(CONCURRENCY, parent: reactor)
    # A pipe that nobody reads stops its writer: the next line is read when the one before has its slot.
    $stdin.each_line(chomp: true) do |url|
      next if url.empty?

      slots.async do |task|
        start = steady
        fetch = Fetch.new(OPTIONS)
        code = fetch.run(task, url, TIMEOUT)
        duration = (steady - start) * 1000
        $stdout.write(format("%s,%s,%s,%.3f,%d\n", url, one_field(code), utc(start), duration, fetch.body_bytes))
      end
    end
  end
end

def describe
  libc = RbConfig::CONFIG["host_os"].include?("musl") ? "musl" : Etc.confstr(Etc::CS_GNU_LIBC_VERSION)
  JSON.generate(
    name: "ruby/async-http-rb",
    runtime: "#{RUBY_ENGINE} #{RUBY_VERSION}",
    libraries: ["async #{Async::VERSION}", "http.rb #{HTTP::VERSION}"],
    tls_library: OpenSSL::OPENSSL_LIBRARY_VERSION,
    libc: libc
  )
end

$stdin.nonblock = true # else waiting for a line stops every fiber
$stdout.sync = true
ARGV == ["--describe"] ? puts(describe) : run
