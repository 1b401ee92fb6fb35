//! Obtains credentials from independent servers and reports the outcome of each way.
//!
//!     cargo run -p pi-ai --example cloud -- MOTO-URL JUDGE-URL DIRECTORY
//!
//! `cargo xtask interop cloud` starts moto and the judge and runs this program; see
//! `docs/interop.md`. It prints one line of JSON for each way.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_web::Variables;
use pi_web::cloud::{self, CloudCredential, Found, Surroundings};
use pi_web::{WebBody, WebClient, WebRequest};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

/// The outcome of a way; `Err` describes the problem.
type Outcome = Result<(), String>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [moto, judge, directory] = arguments.as_slice() else {
        return Err("usage: cloud MOTO-URL JUDGE-URL DIRECTORY".to_owned());
    };
    let bench = Bench {
        moto: moto.clone(),
        directory: PathBuf::from(directory),
        setup: setup(judge).await?,
    };
    // Before the others: moto cannot handle unsigned requests once it checks signatures.
    report("web identity", web_identity(&bench).await);
    report("role of a profile", role(&bench).await);
    report("role of a role", chain(&bench).await);
    report("wrong secret", wrong_secret(&bench).await);
    report("instance metadata", metadata(&bench).await);
    report("google service account", service_account(&bench).await);
    report("google wrong audience", wrong_audience(&bench).await);
    report("google federation with AWS", federation(&bench).await);
    Ok(())
}

#[allow(clippy::print_stdout)] // The output of this program.
fn report(conversation: &str, outcome: Outcome) {
    let (outcome, why) = match outcome {
        Ok(()) => ("ok", String::new()),
        Err(why) => ("FAILED", why),
    };
    let row = json!({"format": "-", "conversation": conversation, "outcome": outcome, "why": why});
    println!("{row}");
}

/// The servers, and the accounts that the judge created.
struct Bench {
    moto: String,
    directory: PathBuf,
    setup: Value,
}

async fn setup(judge: &str) -> Result<Value, String> {
    let request = WebRequest {
        method: "GET".to_owned(),
        url: judge.to_owned(),
        headers: Vec::new(),
        body: WebBody::Empty,
    };
    let web = WebClient::new(Arc::new(|_| None));
    let mut response = web.send(request).await.map_err(|error| error.to_string())?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| error.to_string())? {
        body.extend(chunk);
    }
    serde_json::from_slice(&body).map_err(|error| error.to_string())
}

impl Bench {
    fn text(&self, name: &str) -> &str {
        self.setup[name].as_str().unwrap_or_default()
    }

    fn role(&self, index: usize) -> &str {
        self.setup["roles"][index].as_str().unwrap_or_default()
    }

    /// Writes a file and returns its path.
    fn file(&self, name: &str, text: &str) -> Result<String, String> {
        let path = self.directory.join(name);
        let parent = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .map_err(|e| e.to_string())?;
        Ok(path.display().to_string())
    }

    async fn find(&self, provider: &str, variables: &[(&str, &str)]) -> Result<Found, String> {
        let mut variables: Vec<(String, String)> =
            variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        variables.push(("AWS_ENDPOINT_URL".to_owned(), self.moto.clone()));
        let variables = Variables::new(move |name| {
            variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
        });
        let mut surroundings = Surroundings::new(variables, WebClient::new(Arc::new(|_| None)));
        surroundings.home = Some(self.directory.clone());
        cloud::find(provider, &surroundings).await.map_err(|error| error.to_string())
    }

    async fn aws(&self, variables: &[(&str, &str)]) -> Outcome {
        let found = self.find("amazon-bedrock", variables).await?;
        let CloudCredential::Aws(keys) = &found.credential else {
            return Err(format!("unexpected: {found:?}"));
        };
        let token = keys.session_token.as_ref().map(|token| token.expose_secret().len());
        let is_temporary = keys.expires.is_some() && token.is_some_and(|length| length > 0);
        if is_temporary && !keys.secret_access_key.expose_secret().is_empty() {
            Ok(())
        } else {
            Err(format!("not temporary: {keys:?}"))
        }
    }

    fn profiles(&self, secret: &str) -> Result<(), String> {
        self.file(
            ".aws/config",
            &format!(
                "[profile base]\naws_access_key_id = {}\naws_secret_access_key = {secret}\n\
                 [profile one]\nrole_arn = {}\nsource_profile = base\nexternal_id = a=b/+\n\
                 [profile two]\nrole_arn = {}\nsource_profile = one\nregion = eu-west-1\n",
                self.text("id"),
                self.role(0),
                self.role(1),
            ),
        )?;
        Ok(())
    }
}

async fn web_identity(bench: &Bench) -> Outcome {
    // A token whose parts moto can read.
    let file = bench.file("token", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.c2ln")?;
    let role = bench.role(0);
    bench.aws(&[("AWS_WEB_IDENTITY_TOKEN_FILE", &file), ("AWS_ROLE_ARN", role)]).await
}

async fn role(bench: &Bench) -> Outcome {
    bench.profiles(bench.text("secret"))?;
    bench.aws(&[("AWS_PROFILE", "one")]).await
}

async fn chain(bench: &Bench) -> Outcome {
    bench.profiles(bench.text("secret"))?;
    bench.aws(&[("AWS_PROFILE", "two")]).await
}

/// Shows that moto checks signatures.
async fn wrong_secret(bench: &Bench) -> Outcome {
    bench.profiles("wrong")?;
    match bench.aws(&[("AWS_PROFILE", "one")]).await {
        Err(error) if error.contains("SignatureDoesNotMatch") => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

async fn metadata(bench: &Bench) -> Outcome {
    fs::remove_dir_all(bench.directory.join(".aws")).map_err(|error| error.to_string())?;
    bench.aws(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &bench.moto)]).await
}

async fn google(bench: &Bench, file: &Value, variables: &[(&str, &str)]) -> Result<(), String> {
    let path = bench.file("google.json", &file.to_string())?;
    let mut all = vec![("GOOGLE_APPLICATION_CREDENTIALS", path.as_str())];
    all.extend_from_slice(variables);
    let found = bench.find("google-vertex", &all).await?;
    match &found.credential {
        CloudCredential::Token { token, expires: Some(_), .. }
            if token.expose_secret() == "accepted" =>
        {
            Ok(())
        }
        other => Err(format!("unexpected: {other:?}")),
    }
}

async fn service_account(bench: &Bench) -> Outcome {
    google(bench, &bench.setup["service_account"], &[]).await
}

/// Shows that the judge checks claims.
async fn wrong_audience(bench: &Bench) -> Outcome {
    let mut file = bench.setup["service_account"].clone();
    let url = file["token_uri"].as_str().unwrap_or_default().replace("127.0.0.1", "localhost");
    file["token_uri"] = url.into();
    match google(bench, &file, &[]).await {
        Err(error) if error.contains("audience") => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

async fn federation(bench: &Bench) -> Outcome {
    let variables = [
        ("AWS_ACCESS_KEY_ID", bench.text("id")),
        ("AWS_SECRET_ACCESS_KEY", bench.text("secret")),
        ("AWS_SESSION_TOKEN", "session"),
        ("AWS_REGION", "us-east-2"),
    ];
    google(bench, &bench.setup["external_account"], &variables).await
}
