//! Names the outcome of lib/CONTRACT.md that an error is: by the types in its chain, and by the phase it came in.

use std::{
    error::Error,
    io::{self, ErrorKind},
    sync::atomic::Ordering::Relaxed,
};

use crate::progress::{Phase, Progress};

pub type Outcome = &'static str;

pub fn classify(error: &reqwest::Error, progress: &Progress) -> Outcome {
    let phase = progress.phase();
    if error.is_timeout() {
        return timeout(phase, progress.https.load(Relaxed));
    }
    if error.is_redirect() {
        return "redirect_limit";
    }
    if error.is_builder() {
        return if progress.redirected.load(Relaxed) { "redirect_invalid" } else { "invalid_url" };
    }
    if error.is_dns() {
        return dns(error);
    }
    chain(error).find_map(|cause| known(cause, phase)).unwrap_or("client_error")
}

fn timeout(phase: Phase, https: bool) -> Outcome {
    match phase {
        Phase::Url | Phase::Dns => "dns_timeout",
        Phase::Connect if !https => "connect_timeout",
        Phase::Connect | Phase::Headers => "timeout_before_headers",
        Phase::Body => "timeout_in_body",
    }
}

/// getaddrinfo's code is lost in std, only its text comes through: glibc's or musl's.
fn dns(error: &reqwest::Error) -> Outcome {
    const NOT_FOUND: [&str; 4] = [
        "Name or service not known",
        "No address associated with hostname",
        "Name does not resolve",
        "Name has no usable address",
    ];
    let text = describe(error);
    if NOT_FOUND.iter().any(|words| text.contains(words)) { "dns_not_found" } else { "dns_failure" }
}

fn known(cause: &(dyn Error + 'static), phase: Phase) -> Option<Outcome> {
    if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
        return Some(match tls {
            rustls::Error::InvalidCertificate(_) => "tls_certificate",
            _ => "tls_handshake",
        });
    }
    if let Some(http) = cause.downcast_ref::<hyper::Error>() {
        return known_http(http, phase);
    }
    match cause.downcast_ref::<io::Error>()?.kind() {
        ErrorKind::ConnectionRefused => Some("connect_refused"),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Some("connect_unreachable"),
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => Some("connection_reset"),
        ErrorKind::TimedOut => Some("connect_timeout"),
        ErrorKind::UnexpectedEof if phase == Phase::Connect => Some("tls_handshake"),
        ErrorKind::UnexpectedEof if phase == Phase::Body => Some("body_truncated"),
        ErrorKind::UnexpectedEof => Some("connection_reset"),
        ErrorKind::InvalidData | ErrorKind::InvalidInput if phase == Phase::Body => Some("response_malformed"),
        _ => None,
    }
}

fn known_http(error: &hyper::Error, phase: Phase) -> Option<Outcome> {
    if error.is_parse() {
        // only servers have is_parse_too_large()
        Some(if error.to_string().contains("too large") { "header_too_large" } else { "response_malformed" })
    } else if error.is_incomplete_message() {
        Some(if phase == Phase::Body { "body_truncated" } else { "connection_reset" })
    } else if error.is_closed() {
        Some("connection_reset")
    } else {
        None
    }
}

/// The error and its causes, those inside of io::Error too, whose source() skips what it wraps.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    fn next<'a>(error: &&'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
        let error: &'a (dyn Error + 'static) = *error;
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    }
    std::iter::successors(Some(error), next)
}

/// The texts of the chain, each once.
pub fn describe(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = chain(error).map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}
