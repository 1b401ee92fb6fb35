//! The program `pi` as a user of the server: a login by its command, and many processes with one
//! expired token.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pi_web::WebClient;
use serde_json::{Value, json};

use super::browser::Browser;
use super::{Outcome, ensure};

/// The provider and the service in the settings of the user.
const NAME: &str = "company";
const PROCESSES: usize = 50;

/// The program with the home directory of a user.
pub(crate) struct Program {
    binary: PathBuf,
    home: PathBuf,
    web: WebClient,
}

impl Program {
    /// Writes the settings of the user.
    pub(crate) fn new(
        binary: &Path,
        home: &Path,
        issuer: &str,
        web: WebClient,
    ) -> Result<Self, String> {
        let program = Self { binary: binary.to_owned(), home: home.to_owned(), web };
        let service = json!({
            "issuer": issuer, "clientId": "pi-test", "scopes": ["openid", "offline_access"],
        });
        let provider = json!({
            "baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "models": [{"id": "m"}],
        });
        program.write("settings.json", &json!({"oauth": {NAME: service}}))?;
        program.write("models.json", &json!({"providers": {NAME: provider}}))?;
        Ok(program)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.join(".pi/agent").join(name)
    }

    fn write(&self, name: &str, value: &Value) -> Outcome {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap_or(&self.home)).map_err(text)?;
        fs::write(path, value.to_string()).map_err(text)
    }

    #[allow(clippy::disallowed_methods, reason = "an example starts pi directly")]
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).env_clear().env("HOME", &self.home).current_dir(&self.home);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Signs in with the command, whose events are read as JSON lines.
    pub(crate) async fn login(&self) -> Outcome {
        let arguments = ["auth", "login", NAME, "--no-browser", "--json"];
        let mut command = self.command(&arguments);
        let mut child = command.stdin(Stdio::piped()).spawn().map_err(text)?;
        let lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let mut lines = lines.map_while(Result::ok);
        let url = lines.find_map(|line| {
            let event: Value = serde_json::from_str(&line).ok()?;
            (event["type"] == "auth_url").then(|| event["url"].as_str().map(str::to_owned))?
        });
        let url = url.ok_or("the command shows no address")?;
        Browser::new(self.web.clone()).open(&url).await?;
        // The rest of the events, so that the program can write them.
        let rest: Vec<String> = lines.collect();
        let status = child.wait().map_err(text)?;
        ensure(status.success(), &format!("{status}: {}", rest.join(" ")))
    }

    /// Many processes with one expired token: one of them renews it. The server ends the login if
    /// the refresh token is used twice.
    pub(crate) fn race(&self) -> Outcome {
        let first = self.token()?;
        for _ in 0..3 {
            self.expire()?;
            let arguments = ["auth", "print-bearer-token", "--provider", NAME];
            let children: Result<Vec<_>, _> =
                (0..PROCESSES).map(|_| self.command(&arguments).spawn()).collect();
            let mut tokens = Vec::new();
            for child in children.map_err(text)? {
                let output = child.wait_with_output().map_err(text)?;
                let errors = String::from_utf8_lossy(&output.stderr);
                ensure(output.status.success(), &format!("{}: {errors}", output.status))?;
                tokens.push(String::from_utf8_lossy(&output.stdout).into_owned());
            }
            tokens.dedup();
            ensure(tokens.len() == 1, "the processes have different tokens")?;
            ensure(tokens.first() != Some(&first), "the token was not renewed")?;
        }
        // The login has survived.
        self.expire()?;
        self.token().map(drop)
    }

    fn token(&self) -> Result<String, String> {
        let output = self
            .command(&["auth", "print-bearer-token", "--provider", NAME])
            .output()
            .map_err(text)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure(output.status.success(), &format!("{}: {errors}", output.status))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn expire(&self) -> Outcome {
        let bytes = fs::read(self.file("auth.json")).map_err(text)?;
        let mut stored: Value = serde_json::from_slice(&bytes).map_err(text)?;
        stored[NAME]["expires"] = json!(1);
        stored[NAME]["issued"] = json!(0);
        self.write("auth.json", &stored)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err needs")]
fn text(error: impl ToString) -> String {
    error.to_string()
}
