use std::{
    fs,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use reqwest::{
    Certificate, Client, StatusCode,
    header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderValue},
    redirect, retry,
};
use time::{UtcDateTime, format_description::BorrowedFormatItem, macros::format_description};

use crate::{
    BoxError, Config,
    classify::{Outcome, classify, describe},
    progress::{PROGRESS, Phase, Progress, TellingConnector, TellingResolver},
};

pub const RFC3339_MICROS: &[BorrowedFormatItem] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");

const MAX_REDIRECTS: usize = 10;
const MAX_HEADERS: usize = 1000;

pub struct Fetched {
    pub result: Result<StatusCode, (Outcome, String)>,
    pub start: UtcDateTime,
    pub duration: Duration,
    pub length: usize,
}

#[derive(Clone)]
pub struct Fetcher {
    client: Client,
    /// Starts are this wall time plus a steady clock's delta.
    anchor: (UtcDateTime, Instant),
}

impl Fetcher {
    pub fn new(config: &Config) -> Result<Self, BoxError> {
        let headers = HeaderMap::from_iter([
            (ACCEPT, HeaderValue::from_static("*/*")),
            (ACCEPT_ENCODING, HeaderValue::from_static("identity")),
        ]);
        let mut client = Client::builder()
            .user_agent(&config.user_agent)
            .default_headers(headers)
            .timeout(config.timeout)
            .connect_timeout(config.timeout) // of which each of several addresses gets its share
            .redirect(redirects())
            .retry(retry::never())
            .no_proxy()
            .http1_only()
            .http1_max_headers(MAX_HEADERS)
            .pool_max_idle_per_host(0) // every host is met once
            .dns_resolver(TellingResolver)
            .connector_layer(tower_layer::layer_fn(TellingConnector));
        if let Some(file) = &config.ca_file {
            let pem = fs::read(file).map_err(|error| format!("CA_FILE {file}: {error}"))?;
            client = client.tls_certs_only(Certificate::from_pem_bundle(&pem)?);
        }
        Ok(Self { client: client.build()?, anchor: (UtcDateTime::now(), Instant::now()) })
    }

    /// Gets the URL and reads its body to the end, within the timeout.
    pub async fn fetch(&self, url: &[u8]) -> Fetched {
        let begin = Instant::now();
        let progress = Arc::new(Progress::default());
        let mut length = 0;
        let result = PROGRESS
            .scope(progress.clone(), self.get(&String::from_utf8_lossy(url), &mut length))
            .await
            .map_err(|error| (classify(&error, &progress), describe(&error)));
        Fetched { result, start: self.anchor.0 + (begin - self.anchor.1), duration: begin.elapsed(), length }
    }

    async fn get(&self, url: &str, length: &mut usize) -> reqwest::Result<StatusCode> {
        PROGRESS.with(|progress| progress.https.store(url.starts_with("https:"), Relaxed));
        let mut response = self.client.get(url).send().await?;
        PROGRESS.with(|progress| progress.enter(Phase::Body));
        while let Some(chunk) = response.chunk().await? {
            *length += chunk.len();
        }
        Ok(response.status())
    }
}

/// The client's own policy, and notes where it leads.
fn redirects() -> redirect::Policy {
    let limited = redirect::Policy::limited(MAX_REDIRECTS);
    redirect::Policy::custom(move |attempt| {
        let _ = PROGRESS.try_with(|progress| {
            progress.redirected.store(true, Relaxed);
            progress.https.store(attempt.url().scheme() == "https", Relaxed);
        });
        limited.redirect(attempt)
    })
}
