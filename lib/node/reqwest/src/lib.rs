//! reqwest for Node.js: what main.js needs of it.

mod classify;
mod describe;
mod progress;

use std::{
    fs,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use napi_derive::napi;
use reqwest::{
    Certificate, Client, StatusCode,
    header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderValue},
    redirect, retry,
};

use classify::{classify, describe as text_of};
use progress::{PROGRESS, Phase, Progress, TellingConnector, TellingResolver};

const MAX_REDIRECTS: usize = 10;
const MAX_HEADERS: usize = 1000;

#[napi(object)]
pub struct Options {
    /// Milliseconds.
    pub timeout: f64,
    pub user_agent: String,
    pub ca_file: Option<String>,
}

/// What became of a fetch: the code field of its line, and the body's length in bytes.
#[napi(object)]
pub struct Fetched {
    pub code: String,
    pub length: f64,
}

#[napi]
pub struct Fetcher {
    client: Client,
}

#[napi]
impl Fetcher {
    #[napi(constructor)]
    pub fn new(options: Options) -> napi::Result<Self> {
        let client = client(&options).map_err(|error| napi::Error::from_reason(error.to_string()))?;
        Ok(Self { client })
    }

    /// Gets the URL and reads its body to the end, within the timeout. Never rejects.
    #[napi]
    pub async fn fetch(&self, url: String) -> Fetched {
        let progress = Arc::new(Progress::default());
        let mut length = 0;
        let code = match PROGRESS.scope(progress.clone(), self.get(&url, &mut length)).await {
            Ok(status) => status.as_str().to_owned(),
            Err(error) => {
                let text = text_of(&error).replace(',', ";").replace(['\r', '\n'], " ");
                format!("{}: {text}", classify(&error, &progress))
            }
        };
        Fetched { code, length: length as f64 }
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

#[napi]
pub fn describe() -> describe::Facts {
    describe::facts()
}

fn client(options: &Options) -> Result<Client, Box<dyn std::error::Error>> {
    let timeout = Duration::try_from_secs_f64(options.timeout / 1e3)?;
    let headers = HeaderMap::from_iter([
        (ACCEPT, HeaderValue::from_static("*/*")),
        (ACCEPT_ENCODING, HeaderValue::from_static("identity")),
    ]);
    let mut client = Client::builder()
        .user_agent(&options.user_agent)
        .default_headers(headers)
        .timeout(timeout)
        .connect_timeout(timeout) // of which each of several addresses gets its share
        .redirect(redirects())
        .retry(retry::never())
        .no_proxy()
        .http1_only()
        .http1_max_headers(MAX_HEADERS)
        .pool_max_idle_per_host(0) // every host is met once
        .dns_resolver(TellingResolver)
        .connector_layer(tower_layer::layer_fn(TellingConnector));
    if let Some(file) = options.ca_file.as_ref().filter(|file| !file.is_empty()) {
        let pem = fs::read(file).map_err(|error| format!("CA_FILE {file}: {error}"))?;
        client = client.tls_certs_only(Certificate::from_pem_bundle(&pem)?);
    }
    Ok(client.build()?)
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
