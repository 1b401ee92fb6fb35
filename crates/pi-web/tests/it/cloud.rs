//! Credentials of clouds: files in a temporary home, and scripted servers.
//!
//! Every secret of these tests contains [`SECRET`], and no error may.

mod anthropic;
mod aws;
mod azure;
mod cache;
mod google;
mod hostile;
mod roles;
mod sso;

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use pi_web::Variables;
use pi_web::WebClient;
use pi_web::cloud::{self, CloudCredential, CloudError, Found, Outcome, Surroundings};
use secrecy::ExposeSecret;

use crate::server::{Server, Step, response};

/// A part of every secret.
const SECRET: &str = "s3cr3t";

/// A machine with a home directory, variables and a scripted program.
pub(crate) struct Machine {
    home: tempfile::TempDir,
    variables: Arc<Mutex<BTreeMap<String, String>>>,
    /// The names of all variables that were read.
    read: Arc<Mutex<Vec<String>>>,
    /// The output of programs; `None` if programs are not available.
    program: Option<Result<String, String>>,
    commands: Arc<Mutex<Vec<Vec<String>>>>,
    base_url: Option<String>,
}

impl Machine {
    /// Creates a machine without metadata servers.
    fn new() -> Self {
        let machine = Self {
            home: tempfile::tempdir().unwrap(),
            variables: Arc::default(),
            read: Arc::default(),
            program: None,
            commands: Arc::default(),
            base_url: None,
        };
        machine.set("AWS_EC2_METADATA_DISABLED", "true");
        machine.set("NO_GCE_CHECK", "true");
        machine
    }

    fn with(variables: &[(&str, &str)]) -> Self {
        let machine = Self::new();
        for (name, value) in variables {
            machine.set(name, value);
        }
        machine
    }

    fn set(&self, name: &str, value: &str) {
        self.variables.lock().unwrap().insert(name.to_owned(), value.to_owned());
    }

    /// Writes a file in the home directory and returns its path.
    fn file(&self, path: &str, text: &str) -> String {
        let path = self.home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn surroundings(&self) -> Surroundings {
        let (variables, read) = (Arc::clone(&self.variables), Arc::clone(&self.read));
        let variables = Variables::new(move |name| {
            read.lock().unwrap().push(name.to_owned());
            variables.lock().unwrap().get(name).cloned()
        });
        let mut surroundings = Surroundings::new(variables, WebClient::new(Arc::new(|_| None)));
        surroundings.home = Some(self.home.path().to_owned());
        surroundings.base_url = self.base_url.clone();
        if let Some(output) = self.program.clone() {
            let commands = Arc::clone(&self.commands);
            surroundings.run = Some(Arc::new(move |command| {
                commands.lock().unwrap().push(command);
                let output = output.clone();
                Box::pin(async move { output })
            }));
        }
        surroundings
    }

    async fn find(&self, provider: &str) -> Result<Found, CloudError> {
        let found = cloud::find(provider, &self.surroundings()).await;
        let shown = format!("{found:?}");
        assert!(!shown.contains(SECRET), "{shown}");
        found
    }

    /// Returns the text of the error.
    async fn error(&self, provider: &str) -> String {
        let error = self.find(provider).await.unwrap_err().to_string();
        assert!(!error.contains(SECRET), "{error}");
        // Temporary directories have other names in each run.
        error.replace(self.home.path().to_str().unwrap(), "~")
    }

    /// Returns the explanation, one line per source.
    fn explain(&self, provider: &str) -> String {
        let explained = cloud::explain(provider, &self.surroundings());
        let lines = explained.iter().map(|one| match &one.outcome {
            Outcome::Skipped(reason) => format!("- {}: {reason}\n", one.source),
            Outcome::Tried(place) => format!("? {}: {place}\n", one.source),
            Outcome::Used(by) => format!("+ {}: {by}\n", one.source),
            Outcome::Failed(reason) => format!("! {}: {reason}\n", one.source),
            Outcome::NotReached => format!("  {}\n", one.source),
        });
        let text: String = lines.collect();
        assert!(!text.contains(SECRET), "{text}");
        text.replace(self.home.path().to_str().unwrap(), "~")
    }
}

/// Returns the parts of AWS keys: id, secret, token.
fn aws_parts(found: &Found) -> [String; 3] {
    let CloudCredential::Aws(keys) = &found.credential else { panic!("{found:?}") };
    let token = keys.session_token.as_ref().map(|token| token.expose_secret().to_owned());
    [
        keys.access_key_id.clone(),
        keys.secret_access_key.expose_secret().to_owned(),
        token.unwrap_or_default(),
    ]
}

/// Returns the token of a credential.
fn token(found: &Found) -> &str {
    let CloudCredential::Token { token, .. } = &found.credential else { panic!("{found:?}") };
    token.expose_secret()
}

/// Returns the whole minutes until the end of a credential.
fn minutes_left(found: &Found) -> u64 {
    let left = found.credential.expires().unwrap().duration_since(SystemTime::now()).unwrap();
    (left + Duration::from_secs(30)).as_secs() / 60
}

/// Starts a server that answers one connection after the other.
async fn server(answers: &[(&str, &str)]) -> Server {
    let script = answers.iter().map(|(status, body)| vec![Step::Send(response(status, &[], body))]);
    Server::scripted(script.collect()).await
}

/// Returns the first line and the body of a request.
fn line_and_body(request: &str) -> (&str, &str) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().trim_end_matches(" HTTP/1.1"), body)
}

/// Returns the value of a header of a request.
fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let head = request.split_once("\r\n\r\n").unwrap().0;
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// A time in the future, as servers write it.
const LATER: &str = "2096-01-01T00:00:00Z";
