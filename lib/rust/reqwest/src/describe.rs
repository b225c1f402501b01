//! What really runs, as one JSON object on one line.

const LOCK: &str = include_str!("../Cargo.lock");
const LIBRARIES: [&str; 4] = ["reqwest", "hyper", "tokio", "rustls"];

pub fn describe() -> String {
    let libraries: Vec<String> = LIBRARIES.iter().map(|name| format!("{name} {}", locked(name))).collect();
    let groups: Vec<String> = rustls::crypto::aws_lc_rs::default_provider()
        .kx_groups
        .iter()
        .map(|group| format!("{:?}", group.name()))
        .collect();
    format!(
        r#"{{"name":"rust/reqwest","version":"{}","runtime":"Rust {}","libraries":["{}"],"tls_library":"rustls {} (aws-lc-rs {})","tls_groups":"{}","libc":"{}"}}"#,
        env!("CARGO_PKG_VERSION"),
        env!("RUSTC_VERSION"),
        libraries.join(r#"",""#),
        locked("rustls"),
        locked("aws-lc-rs"),
        groups.join(":"),
        libc(),
    )
}

/// The version of the lock file that this was built by.
fn locked(name: &str) -> &'static str {
    let entry = format!("name = \"{name}\"\nversion = \"");
    LOCK.split_once(&entry).and_then(|(_, rest)| rest.split('"').next()).unwrap_or("unknown")
}

#[cfg(target_env = "gnu")]
fn libc() -> String {
    unsafe extern "C" {
        fn gnu_get_libc_version() -> *const std::ffi::c_char;
    }
    // SAFETY: glibc returns a static string.
    let version = unsafe { std::ffi::CStr::from_ptr(gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}

#[cfg(not(target_env = "gnu"))]
fn libc() -> String {
    "musl".into()
}
