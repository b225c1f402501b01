// Sets the linker up for an addon, and hands the compiler's version on to describe().
use std::{env, process::Command};

fn main() {
    napi_build::setup();
    let rustc = env::var("RUSTC").expect("cargo sets RUSTC");
    let output = Command::new(rustc).arg("--version").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&output.stdout);
    println!("cargo::rustc-env=RUSTC_VERSION={}", version.split(' ').nth(1).unwrap_or("unknown"));
    println!("cargo::rerun-if-changed=build.rs");
}
