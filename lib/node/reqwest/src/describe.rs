//! What really runs.

use napi_derive::napi;

const LOCK: &str = include_str!("../Cargo.lock");
const LIBRARIES: [&str; 5] = ["napi", "reqwest", "hyper", "tokio", "rustls"];

#[napi(object)]
pub struct Facts {
    pub rust: String,
    pub libraries: Vec<String>,
    pub tls_library: String,
    pub tls_groups: String,
}

pub fn facts() -> Facts {
    let groups: Vec<String> = rustls::crypto::aws_lc_rs::default_provider()
        .kx_groups
        .iter()
        .map(|group| format!("{:?}", group.name()))
        .collect();
    Facts {
        rust: env!("RUSTC_VERSION").into(),
        libraries: LIBRARIES.iter().map(|name| format!("{name} {}", locked(name))).collect(),
        tls_library: format!("rustls {} (aws-lc-rs {})", locked("rustls"), locked("aws-lc-rs")),
        tls_groups: groups.join(":"),
    }
}

/// The version of the lock file that this was built by.
fn locked(name: &str) -> &'static str {
    let entry = format!("name = \"{name}\"\nversion = \"");
    LOCK.split_once(&entry).and_then(|(_, rest)| rest.split('"').next()).unwrap_or("unknown")
}
