//! Tokens of Microsoft Entra ID.

use super::{Machine, header, line_and_body, minutes_left, server, token};

const AZURE: &str = "azure";
const TOKEN: &str = r#"{"token_type":"Bearer","expires_in":3599,"access_token":"s3cr3t-token"}"#;
const SCOPE: &str = "scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default";

#[tokio::test]
async fn an_application_with_a_secret() {
    let tenant = server(&[("200 OK", TOKEN)]).await;
    let machine = Machine::with(&[
        ("AZURE_AUTHORITY_HOST", &tenant.url()),
        ("AZURE_CLIENT_ID", "app"),
        ("AZURE_CLIENT_SECRET", "s3cr3t-c"),
        ("AZURE_TENANT_ID", "tenant-1"),
    ]);
    let found = machine.find(AZURE).await.unwrap();
    assert_eq!((token(&found), minutes_left(&found)), ("s3cr3t-token", 60));
    let authorization = found.authorization();
    assert_eq!(authorization.scheme, pi_web::KeyScheme::Bearer);
    assert_eq!(
        line_and_body(&tenant.requests()[0]),
        (
            "POST /tenant-1/oauth2/v2.0/token",
            &*format!("grant_type=client_credentials&client_id=app&{SCOPE}&client_secret=s3cr3t-c")
        )
    );
}

#[tokio::test]
async fn an_application_with_a_federated_token() {
    let tenant = server(&[("200 OK", TOKEN), ("200 OK", TOKEN)]).await;
    let machine = Machine::with(&[
        ("AZURE_AUTHORITY_HOST", &tenant.url()),
        ("AZURE_CLIENT_ID", "app"),
        ("AZURE_FEDERATED_TOKEN_FILE", "~/token"),
        ("AZURE_TENANT_ID", "tenant-1"),
    ]);
    for text in ["s3cr3t-1", "s3cr3t-2"] {
        machine.file("token", text);
        machine.find(AZURE).await.unwrap();
    }
    let assertion = "client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type\
                     %3Ajwt-bearer&client_assertion=s3cr3t-2";
    assert_eq!(
        line_and_body(&tenant.requests()[1]).1,
        format!("grant_type=client_credentials&client_id=app&{SCOPE}&{assertion}"),
        "the file is read each time"
    );
}

#[tokio::test]
async fn problems_of_applications() {
    let refused = (
        "401 Unauthorized",
        r#"{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret s3cr3t-c.\r\nTrace ID: 1"}"#,
    );
    let tenant = server(&[refused]).await;
    let machine = Machine::with(&[
        ("AZURE_AUTHORITY_HOST", &tenant.url()),
        ("AZURE_CLIENT_ID", "app"),
        ("AZURE_CLIENT_SECRET", "s3cr3t-c"),
        ("AZURE_TENANT_ID", "t"),
    ]);
    let name = "Azure application in the environment";
    assert_eq!(
        machine.error(AZURE).await,
        format!(
            "{name}: {} answered with status 401: invalid_client: AADSTS7000215: Invalid client \
             secret [redacted]. Trace ID: 1",
            tenant.addr
        )
    );
    for (variable, value, problem) in [
        ("AZURE_TENANT_ID", "../x", "AZURE_TENANT_ID is not the id or domain of a tenant"),
        ("AZURE_AUTHORITY_HOST", "http://x.example", "AZURE_AUTHORITY_HOST is not an https URL"),
        ("AZURE_CLIENT_ID", "", "AZURE_CLIENT_ID is not set"),
    ] {
        machine.set("AZURE_TENANT_ID", "t");
        machine.set(variable, value);
        assert_eq!(machine.error(AZURE).await, format!("{name}: {problem}"));
    }
    let machine = Machine::with(&[("AZURE_CLIENT_CERTIFICATE_PATH", "~/cert.pem")]);
    assert_eq!(
        machine.error(AZURE).await,
        format!(
            "{name}: certificates (AZURE_CLIENT_CERTIFICATE_PATH) are not supported; use \
             AZURE_CLIENT_SECRET, a federated token or `az login`"
        )
    );
}

#[tokio::test]
async fn managed_identities() {
    let answer = r#"{"access_token":"s3cr3t-token","expires_on":"3976214400","resource":"x"}"#;
    let app = server(&[("200 OK", answer)]).await;
    let machine = Machine::with(&[
        ("IDENTITY_ENDPOINT", &format!("{}/msi/token", app.url())),
        ("IDENTITY_HEADER", "s3cr3t-h"),
        ("AZURE_CLIENT_ID", "user assigned"),
    ]);
    let found = machine.find(AZURE).await.unwrap();
    assert_eq!((found.source, token(&found)), ("Azure managed identity", "s3cr3t-token"));
    assert!(found.credential.expires().is_some());
    let resource = "resource=https%3A%2F%2Fcognitiveservices.azure.com";
    let requests = app.requests();
    assert_eq!(
        line_and_body(&requests[0]).0,
        format!("GET /msi/token?api-version=2019-08-01&{resource}&client_id=user%20assigned")
    );
    assert_eq!(header(&requests[0], "x-identity-header"), Some("s3cr3t-h"));

    let answer = r#"{"access_token":"s3cr3t-vm","expires_in":"86399"}"#;
    let vm = server(&[
        ("200 OK", answer),
        (
            "400 Bad Request",
            r#"{"error":"invalid_request","error_description":"Identity not found"}"#,
        ),
    ])
    .await;
    let machine = Machine::with(&[
        ("AZURE_POD_IDENTITY_AUTHORITY_HOST", &vm.url()),
        ("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.us"),
    ]);
    let found = machine.find(AZURE).await.unwrap();
    assert_eq!((token(&found), minutes_left(&found)), ("s3cr3t-vm", 1440));
    let requests = vm.requests();
    let resource = "resource=https%3A%2F%2Fcognitiveservices.azure.us";
    assert_eq!(
        line_and_body(&requests[0]).0,
        format!("GET /metadata/identity/oauth2/token?api-version=2018-02-01&{resource}")
    );
    assert_eq!(header(&requests[0], "metadata"), Some("true"));
    assert_eq!(
        machine.error(AZURE).await,
        format!(
            "Azure managed identity: {} answered with status 400: invalid_request: Identity not found",
            vm.addr
        )
    );
}

#[tokio::test]
async fn refused_endpoints_of_managed_identities() {
    for (variables, problem) in [
        (&[("IDENTITY_HEADER", "")][..], "IDENTITY_HEADER is not set"),
        (
            &[("IDENTITY_HEADER", "s3cr3t")],
            "IDENTITY_ENDPOINT is refused: it is neither an https URL nor a local address",
        ),
        (&[("IMDS_ENDPOINT", "x")], "identities of Azure Arc are not supported"),
    ] {
        let machine = Machine::with(&[("IDENTITY_ENDPOINT", "http://identity.example/")]);
        for (name, value) in variables {
            machine.set(name, value);
        }
        assert_eq!(machine.error(AZURE).await, format!("Azure managed identity: {problem}"));
    }
}

#[tokio::test]
async fn the_login_of_the_azure_cli() {
    let mut machine = Machine::with(&[("AZURE_TOKEN_CREDENTIALS", "dev")]);
    machine.program = Some(Ok(
        r#"{"accessToken":"s3cr3t-az","expiresOn":"2096-01-01 00:00:00.000000","expires_on":3976214400}"#
            .to_owned(),
    ));
    machine.file(".azure/azureProfile.json", "\u{feff}{\"subscriptions\":[{\"id\":\"1\"}]}");
    let found = machine.find(AZURE).await.unwrap();
    assert_eq!((found.source, token(&found)), ("Azure CLI", "s3cr3t-az"));
    let command = machine.commands.lock().unwrap()[0].join(" ");
    assert_eq!(
        command,
        "az account get-access-token --output json --resource https://cognitiveservices.azure.com"
    );
    machine.set("AZURE_TENANT_ID", "t1");
    machine.program = Some(Err("ERROR: AADSTS700082: expired".to_owned()));
    assert_eq!(
        machine.error(AZURE).await,
        "Azure CLI: `az account get-access-token` failed: ERROR: AADSTS700082: expired; run `az login`"
    );
    let command = machine.commands.lock().unwrap()[1].join(" ");
    assert!(command.ends_with(" --tenant t1"), "{command}");
    machine.program = Some(Ok("s3cr3t".to_owned()));
    assert_eq!(
        machine.error(AZURE).await,
        "Azure CLI: `az account get-access-token` did not print the expected JSON"
    );
    machine.file(".azure/azureProfile.json", "{\"subscriptions\":[]}");
    insta::assert_snapshot!(machine.explain(AZURE), @r#"
    - Azure application in the environment: AZURE_TOKEN_CREDENTIALS is "dev"
    - Azure workload identity: AZURE_TOKEN_CREDENTIALS is "dev"
    - Azure managed identity: AZURE_TOKEN_CREDENTIALS is "dev"
    - Azure CLI: no user is signed in with `az login`
    "#);
}
