# One fetch: its deadline, how far it has come, and the name of what ended it.
class Fetch
  # Not Async::TimeoutError: Async 1 takes that, while a socket waits, for a time-out of the wait alone, and
  # the socket for a reason to wait again.
  Deadline = Class.new(StandardError)

  TIMEOUTS = {
    start: "timeout_before_headers",
    dns: "dns_timeout",
    connect: "connect_timeout",
    headers: "timeout_before_headers",
    body: "timeout_in_body"
  }.freeze
  NO_NAME = [Socket::EAI_NONAME, Socket::EAI_NODATA].freeze

  attr_reader :body_bytes

  def initialize(options)
    @options = options
    @phase = :start
    @body_bytes = 0
  end

  # The status or failure. The deadline covers all: names, connecting, redirects and the body.
  def run(task, url, seconds)
    client = HTTP::Client.new(**@options, socket_class: self)
    task.with_timeout(seconds, Deadline) do
      response = client.get(url)
      @phase = :body
      response.body.each { |chunk| @body_bytes += chunk.bytesize }
      response.status.code.to_s
    end
  rescue StandardError => e
    causes = causes(e)
    "#{outcome(causes)}: #{causes.map { |cause| "#{cause.class}: #{cause.message}" }.uniq.join(" ")}"
  ensure
    client&.close
    @socket&.close # http.rb does not know it before the TLS handshake is done
  end

  # What http.rb takes for a socket class. getaddrinfo in a thread of its own: called here it would stop every
  # fiber until the answer is there.
  def open(host, port, *)
    @phase = :dns
    addresses = Thread.new do
      Thread.current.report_on_exception = false
      Addrinfo.getaddrinfo(host, port, nil, :STREAM)
    end.value
    @phase = :connect
    @socket = connect(addresses)
    @phase = :headers
    @socket
  end

  private

  def connect(addresses)
    addresses.each_with_index do |address, i|
      return address.connect
    rescue SystemCallError
      raise if i == addresses.size - 1
    end
  end

  def causes(error)
    found = []
    while error && !found.include?(error)
      found << error
      error = error.cause
    end
    found
  end

  def outcome(causes)
    causes.each do |error|
      name = name_of(error)
      return name if name
    end
    @phase == :body ? "body_truncated" : "client_error"
  end

  # nil: what caused it has to tell.
  def name_of(error)
    case error
    when Deadline then TIMEOUTS.fetch(@phase)
    when HTTP::Redirector::TooManyRedirectsError, HTTP::Redirector::EndlessRedirectError then "redirect_limit"
    when HTTP::StateError, Addressable::URI::InvalidURIError, HTTP::Request::UnsupportedSchemeError
      @phase == :start ? "invalid_url" : "redirect_invalid"
    when Socket::ResolutionError then NO_NAME.include?(error.error_code) ? "dns_not_found" : "dns_failure"
    when Errno::ECONNREFUSED then "connect_refused"
    when Errno::EHOSTUNREACH, Errno::ENETUNREACH, Errno::EADDRNOTAVAIL then "connect_unreachable"
    when Errno::ECONNRESET, Errno::EPIPE then "connection_reset"
    when OpenSSL::SSL::SSLError then tls(error)
    when IOError then parsing(error)
    when HTTP::ConnectionError then "connection_reset" if error.cause.nil? # "couldn't read response headers"
    end
  end

  def tls(error)
    return "body_truncated" if @phase == :body

    # Neither refusal has a class of its own.
    error.message.match?(/certificate verify failed|does not match/) ? "tls_certificate" : "tls_handshake"
  end

  # "Could not parse data", also where it is the end that comes too early: in a body that is the usual case.
  def parsing(error)
    return if error.instance_of?(HTTP::ConnectionError)

    @phase == :body ? "body_truncated" : "response_malformed"
  end
end
