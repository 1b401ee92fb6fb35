//! Requests of a client that looks for credentials of the machine itself.

use std::collections::BTreeMap;
use std::fs;

use pi_ai::{Client, Context, ProviderConfig, StreamOptions};
use pi_web::{Authorization, KeyScheme};

use crate::client::header;
use crate::server::{Server, Step, response};

/// A machine with a home directory and variables, without metadata servers.
struct Machine {
    home: tempfile::TempDir,
    variables: BTreeMap<String, String>,
}

impl Machine {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let variables = BTreeMap::from([
            set("HOME", home.path().to_str().unwrap()),
            set("AWS_EC2_METADATA_DISABLED", "true"),
            set("NO_GCE_CHECK", "true"),
        ]);
        Self { home, variables }
    }

    fn with(variables: &[(&str, &str)]) -> Self {
        let mut machine = Self::new();
        for (name, value) in variables {
            machine.variables.insert((*name).to_owned(), (*value).to_owned());
        }
        machine
    }

    /// Writes a file in the home directory.
    fn file(&self, path: &str, text: &str) {
        let path = self.home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
}

/// Starts a server that answers one connection after the other.
async fn server(answers: &[(&str, &str)]) -> Server {
    let script = answers.iter().map(|(status, body)| vec![Step::Send(response(status, &[], body))]);
    Server::scripted(script.collect()).await
}

fn client(machine: &Machine) -> Client {
    let variables = machine.variables.clone();
    Client::new(move |name| variables.get(name).cloned()).with_cloud_credentials()
}

/// Sends a request and returns the error of its answer.
async fn error(client: &Client, provider: &str, model: &str) -> String {
    let model = client.model(provider, model).unwrap();
    let context = Context::new().user("hello");
    let answer = client.complete(&model, context, StreamOptions::default()).await;
    answer.error_message.clone().unwrap_or_default()
}

const PROFILE: &str = "[default]\nregion = eu-west-1\naws_access_key_id = AKFILE\n\
                       aws_secret_access_key = s3cr3t\n";

#[tokio::test]
async fn the_keys_and_the_region_of_a_profile_sign() {
    let bedrock = server(&[("400 Bad Request", "{}")]).await;
    let machine = Machine::new();
    machine.file(".aws/config", PROFILE);
    let config = ProviderConfig::new("amazon-bedrock").with_base_url(bedrock.url());
    let client = client(&machine).with_provider(config);
    error(&client, "amazon-bedrock", "amazon.nova-lite-v1:0").await;
    let requests = bedrock.requests();
    let signed = header(&requests[0], "authorization").unwrap();
    assert!(signed.starts_with("AWS4-HMAC-SHA256 Credential=AKFILE/"), "{signed}");
    assert!(signed.contains("/eu-west-1/bedrock/aws4_request"), "{signed}");
}

/// A refusal with the same keys would be the same again.
#[tokio::test]
async fn rejected_keys_are_sent_again_only_if_they_changed() {
    let refused = ("403 Forbidden", r#"{"message":"no access to the model"}"#);
    let bedrock = server(&[refused, refused, refused]).await;
    let machine = Machine::new();
    machine.file(".aws/config", PROFILE);
    let config = ProviderConfig::new("amazon-bedrock").with_base_url(bedrock.url());
    let client = client(&machine).with_provider(config);
    let text = error(&client, "amazon-bedrock", "amazon.nova-lite-v1:0").await;
    assert!(text.contains("no access to the model"), "{text}");
    assert_eq!(bedrock.requests().len(), 1);

    machine.file(".aws/config", &PROFILE.replace("AKFILE", "AKNEW"));
    error(&client, "amazon-bedrock", "amazon.nova-lite-v1:0").await;
    let requests = bedrock.requests();
    let signers: Vec<bool> = requests.iter().map(|one| one.contains("Credential=AKNEW/")).collect();
    assert_eq!(signers, [false, false, true], "the cached keys, then those of the changed file");
}

#[tokio::test]
async fn a_token_of_entra_id_is_sent_to_azure() {
    let token = r#"{"access_token":"s3cr3t-entra","expires_in":3600}"#;
    let azure = server(&[("200 OK", token), ("400 Bad Request", "{}")]).await;
    let machine = Machine::with(&[
        ("AZURE_AUTHORITY_HOST", &azure.url()),
        ("AZURE_CLIENT_ID", "app"),
        ("AZURE_CLIENT_SECRET", "s3cr3t"),
        ("AZURE_TENANT_ID", "t"),
        ("AZURE_OPENAI_BASE_URL", &azure.url()),
    ]);
    let text = error(&client(&machine), "azure", "gpt-5.4").await;
    let requests = azure.requests();
    assert_eq!(requests.len(), 2, "{text}");
    assert_eq!(header(&requests[1], "authorization").unwrap(), "Bearer s3cr3t-entra");
    assert_eq!(header(&requests[1], "api-key"), None);
}

#[tokio::test]
async fn a_source_that_fails_is_the_error_of_the_request() {
    let machine = Machine::with(&[("AWS_PROFILE", "gone")]);
    assert_eq!(
        error(&client(&machine), "amazon-bedrock", "amazon.nova-lite-v1:0").await,
        "AWS profile: profile \"gone\" does not exist; there are no profiles"
    );
    let none = error(&client(&Machine::new()), "amazon-bedrock", "amazon.nova-lite-v1:0").await;
    assert!(none.contains("AWS_BEARER_TOKEN_BEDROCK"), "{none}");
}

/// The token of a workload identity is sent as pi sends it: as a bearer token, and with the beta of
/// logins.
#[tokio::test]
async fn requests_with_a_token_of_anthropic() {
    let endpoint = server(&[("400 Bad Request", "{}")]).await;
    let client = Client::new(|_| None)
        .with_provider(ProviderConfig::new("anthropic").with_base_url(endpoint.url()))
        .with_authorization(|_| {
            let authorization = Authorization::new("s3cr3t-token").with_scheme(KeyScheme::Oauth);
            Box::pin(async move { Ok(authorization) })
        });
    error(&client, "anthropic", "claude-opus-4-6").await;
    let requests = endpoint.requests();
    assert!(requests[0].starts_with("POST /v1/messages?beta=true HTTP/1.1"), "{}", requests[0]);
    assert_eq!(header(&requests[0], "authorization").unwrap(), "Bearer s3cr3t-token");
    assert_eq!(header(&requests[0], "x-api-key"), None);
    assert_eq!(header(&requests[0], "anthropic-beta").unwrap(), "oauth-2025-04-20");
}
