//! Fetches each URL of standard input once with reqwest and prints one line for each.
//! The rules are in lib/CONTRACT.md.

mod classify;
mod describe;
mod fetch;
mod progress;

use std::{env, error::Error, io::Write, process, sync::Arc, time::Duration};

use fetch::{Fetched, Fetcher};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Split, Stdin, stdin},
    sync::Mutex,
    task::JoinSet,
};

type BoxError = Box<dyn Error + Send + Sync>;

struct Config {
    concurrency: usize,
    timeout: Duration,
    user_agent: String,
    ca_file: Option<String>,
}

impl Config {
    fn from_env() -> Result<Self, BoxError> {
        let concurrency = env::var("CONCURRENCY")?.parse()?;
        if concurrency == 0 {
            return Err("it is 0".into());
        }
        Ok(Self {
            concurrency,
            timeout: Duration::try_from_secs_f64(env::var("REQUEST_TIMEOUT")?.parse()?)?,
            user_agent: env::var("USER_AGENT")?,
            ca_file: env::var("CA_FILE").ok().filter(|file| !file.is_empty()),
        })
    }
}

/// Takes a line when it has nothing to do, so standard input is read no further than it is wanted.
async fn work(lines: Arc<Mutex<Split<BufReader<Stdin>>>>, fetcher: Fetcher) -> Result<(), BoxError> {
    loop {
        let next = lines.lock().await.next_segment().await;
        let Some(url) = next? else { return Ok(()) };
        print(&url, &fetcher.fetch(&url).await)?;
    }
}

fn print(url: &[u8], fetched: &Fetched) -> Result<(), BoxError> {
    let code = match &fetched.result {
        Ok(status) => status.as_str().to_owned(),
        Err((outcome, text)) => format!("{outcome}: {}", text.replace(',', ";").replace(['\r', '\n'], " ")),
    };
    let start = fetched.start.format(fetch::RFC3339_MICROS)?;
    let duration = fetched.duration.as_secs_f64() * 1e3;
    let mut line = url.to_vec();
    writeln!(line, ",{code},{start},{duration:.3},{}", fetched.length)?;
    Ok(std::io::stdout().write_all(&line)?) // which flushes at each newline
}

async fn run() -> Result<(), BoxError> {
    let config = Config::from_env().map_err(|error| format!("CONCURRENCY, REQUEST_TIMEOUT, USER_AGENT: {error}"))?;
    let fetcher = Fetcher::new(&config)?;
    let lines = Arc::new(Mutex::new(BufReader::new(stdin()).split(b'\n')));
    let mut workers = JoinSet::new();
    for _ in 0..config.concurrency {
        workers.spawn(work(lines.clone(), fetcher.clone()));
    }
    while let Some(done) = workers.join_next().await {
        done??;
    }
    Ok(())
}

#[tokio::main]
async fn main() {
    if env::args().nth(1).as_deref() == Some("--describe") {
        println!("{}", describe::describe());
        return;
    }
    let code = match run().await {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            1
        }
    };
    process::exit(code); // lookups of fetches that are over may still block their threads
}
