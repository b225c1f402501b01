//! Which phase a fetch is in: told by hooks of the client, which run in the task of the fetch.

use std::{
    future::Future,
    pin::Pin,
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use reqwest::dns::{Addrs, Resolve, Resolving};
use tower_service::Service;

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum Phase {
    Url,
    Dns,
    /// Until TCP and TLS are ready; reqwest does both behind one door.
    Connect,
    Headers,
    Body,
}

#[derive(Default)]
pub struct Progress {
    phase: AtomicU8,
    pub https: AtomicBool,
    pub redirected: AtomicBool,
}

tokio::task_local! {
    pub static PROGRESS: Arc<Progress>;
}

impl Progress {
    pub fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
    }

    pub fn phase(&self) -> Phase {
        match self.phase.load(Relaxed) {
            0 => Phase::Url,
            1 => Phase::Dns,
            2 => Phase::Connect,
            3 => Phase::Headers,
            _ => Phase::Body,
        }
    }
}

pub fn enter(phase: Phase) {
    let _ = PROGRESS.try_with(|progress| progress.enter(phase));
}

/// The resolver that the client has by default, getaddrinfo in threads, and tells when it is at work.
pub struct TellingResolver;

impl Resolve for TellingResolver {
    fn resolve(&self, name: reqwest::dns::Name) -> Resolving {
        Box::pin(async move {
            enter(Phase::Dns);
            let addresses = GaiResolver::new().call(Name::from_str(name.as_str())?).await?;
            enter(Phase::Connect);
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// A connector that tells when it begins and when the connection stands.
#[derive(Clone)]
pub struct TellingConnector<S>(pub S);

impl<S, R> Service<R> for TellingConnector<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        enter(Phase::Connect);
        let connecting = self.0.call(request);
        Box::pin(async move {
            let connection = connecting.await?;
            enter(Phase::Headers);
            Ok(connection)
        })
    }
}
