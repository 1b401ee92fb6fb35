//! The order of the AWS chain and its simple sources.

use pi_web::cloud::{CloudError, aws};

use super::{LATER, Machine, SECRET, aws_parts, header, line_and_body, server};

const BEDROCK: &str = "amazon-bedrock";

fn keys_json(id: &str) -> String {
    format!(
        r#"{{"Code":"Success","AccessKeyId":"{id}","SecretAccessKey":"{SECRET}-k","Token":"{SECRET}-t","Expiration":"{LATER}"}}"#
    )
}

const ENVIRONMENT: &[(&str, &str)] = &[
    ("AWS_ACCESS_KEY_ID", "AKENV"),
    ("AWS_SECRET_ACCESS_KEY", "s3cr3t-env"),
    ("AWS_SESSION_TOKEN", "s3cr3t-session"),
];

#[tokio::test]
async fn keys_in_the_environment() {
    let machine = Machine::with(ENVIRONMENT);
    let found = machine.find(BEDROCK).await.unwrap();
    assert_eq!(aws_parts(&found), ["AKENV", "s3cr3t-env", "s3cr3t-session"]);
    assert_eq!(found.source, "AWS keys in the environment");
    let authorization = found.authorization();
    assert!(authorization.is_renewable && authorization.key.is_none());
    assert_eq!(authorization.aws.unwrap().access_key_id, "AKENV");
    assert!(found.env.is_empty());

    let half = Machine::with(&[("AWS_ACCESS_KEY_ID", "AKENV")]);
    assert_eq!(
        half.error(BEDROCK).await,
        "AWS keys in the environment: AWS_SECRET_ACCESS_KEY is not set; it is required beside \
         AWS_ACCESS_KEY_ID"
    );
}

#[tokio::test]
async fn a_named_profile_precedes_keys_in_the_environment() {
    let machine = Machine::with(ENVIRONMENT);
    machine.set("AWS_PROFILE", "work");
    machine.file(".aws/config", "[profile work]\nregion = eu-west-1\noutput = json\n");
    machine.file(
        ".aws/credentials",
        "[work]\naws_access_key_id = AKWORK\naws_secret_access_key = s3cr3t-w\n",
    );
    let found = machine.find(BEDROCK).await.unwrap();
    assert_eq!(aws_parts(&found), ["AKWORK", "s3cr3t-w", ""]);
    assert_eq!(found.env["AWS_REGION"], "eu-west-1");
    assert_eq!(aws::region(&machine.surroundings()).as_deref(), Some("eu-west-1"));

    machine.set("AWS_DEFAULT_REGION", "us-west-2");
    assert!(machine.find(BEDROCK).await.unwrap().env.is_empty());
    assert_eq!(aws::region(&machine.surroundings()).as_deref(), Some("us-west-2"));
    machine.set("AWS_REGION", "sa-east-1");
    assert_eq!(aws::region(&machine.surroundings()).as_deref(), Some("sa-east-1"));
}

#[tokio::test]
async fn a_profile_that_does_not_exist_is_an_error() {
    let machine = Machine::with(ENVIRONMENT);
    machine.set("AWS_PROFILE", "wrok");
    machine.file(".aws/config", "[default]\nregion = eu-west-1\n[profile work]\n");
    assert_eq!(
        machine.error(BEDROCK).await,
        "AWS profile: profile \"wrok\" does not exist; the profiles are default, work"
    );
    let explained = machine.explain(BEDROCK);
    let failed =
        "! AWS profile: profile \"wrok\" does not exist; the profiles are default, work\n  AWS web";
    assert!(explained.contains(failed), "{explained}");
}

#[test]
fn half_a_key_is_a_failed_source() {
    let machine = Machine::with(&[("AWS_ACCESS_KEY_ID", "AKID")]);
    let explained = machine.explain(BEDROCK);
    let failed = "! AWS keys in the environment: AWS_SECRET_ACCESS_KEY is not set; it is required";
    assert!(explained.contains(failed), "{explained}");
}

#[tokio::test]
async fn the_default_profile_needs_no_name() {
    let machine = Machine::new();
    let config = machine.file("elsewhere/config", "[default]\nregion = eu-west-1\n");
    machine.set("AWS_CONFIG_FILE", &config);
    machine.set("AWS_SHARED_CREDENTIALS_FILE", "~/elsewhere/credentials");
    let error = machine.find(BEDROCK).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "no source of credentials is configured; set AWS_BEARER_TOKEN_BEDROCK, AWS_PROFILE, or \
         AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    );
    let CloudError::NotConfigured { reasons, .. } = error else { panic!("{error:?}") };
    assert_eq!(reasons[2], ("AWS profile", "profile \"default\" has no credentials".to_owned()));
    assert_eq!(reasons.len(), 6);
    machine.file(
        "elsewhere/credentials",
        "[default]\naws_access_key_id=AKDEF\naws_secret_access_key=s3cr3t\naws_session_token=s3cr3t-t",
    );
    assert_eq!(aws_parts(&machine.find(BEDROCK).await.unwrap()), ["AKDEF", "s3cr3t", "s3cr3t-t"]);
}

#[tokio::test]
async fn explanations() {
    let machine = Machine::with(ENVIRONMENT);
    insta::assert_snapshot!(machine.explain(BEDROCK), @r"
    - AWS gateway: AWS_BEDROCK_SKIP_AUTH is not 1
    + AWS keys in the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are set
      AWS profile
      AWS web identity
      AWS container
      AWS instance metadata
    ");
    machine.set("AWS_PROFILE", "prod");
    machine.file(
        ".aws/config",
        "[profile prod]\nrole_arn = arn:aws:iam::1:role/prod\nsource_profile = base\n\
         [profile base]\nsso_session = corp\nsso_account_id = 1\nsso_role_name = dev\n\
         [sso-session corp]\nsso_region = us-east-1\nsso_start_url = https://corp.example/start\n",
    );
    insta::assert_snapshot!(machine.explain(BEDROCK), @r#"
    - AWS gateway: AWS_BEDROCK_SKIP_AUTH is not 1
    - AWS keys in the environment: AWS_PROFILE names a profile, which takes precedence
    + AWS profile: AWS_PROFILE is "prod", with the login at https://corp.example/start, then the role arn:aws:iam::1:role/prod
      AWS web identity
      AWS container
      AWS instance metadata
    "#);
    let machine = Machine::with(&[("AWS_EC2_METADATA_DISABLED", "false")]);
    insta::assert_snapshot!(machine.explain(BEDROCK), @r#"
    - AWS gateway: AWS_BEDROCK_SKIP_AUTH is not 1
    - AWS keys in the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set
    - AWS profile: there is no profile "default"
    - AWS web identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set
    - AWS container: neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set
    ? AWS instance metadata: the metadata service of EC2, if this machine has one
    "#);
    assert_eq!(machine.explain("openai"), "");
}

#[tokio::test]
async fn keys_of_a_program() {
    let mut machine = Machine::new();
    machine.file(".aws/config", "[default]\ncredential_process = \"/opt/my tool\" --json 'a b'\n");
    machine.program = Some(Ok(format!(
        r#"{{"Version":1,"AccessKeyId":"AKPROC","SecretAccessKey":"{SECRET}","SessionToken":"{SECRET}-t","Expiration":"{LATER}"}}"#
    )));
    let found = machine.find(BEDROCK).await.unwrap();
    assert_eq!(aws_parts(&found), ["AKPROC", "s3cr3t", "s3cr3t-t"]);
    assert!(found.credential.expires().is_some());
    assert_eq!(machine.commands.lock().unwrap()[0], ["/opt/my tool", "--json", "a b"]);

    let keys = r#""AccessKeyId":"A","SecretAccessKey":"s3cr3t""#;
    for (output, problem) in [
        (Ok(format!("{{\"Version\":2,{keys}}}")), "did not print a document of version 1"),
        (Ok(format!("{{{keys}}}")), "did not print a document of version 1"),
        (Ok(r#"{"Version":1,"AccessKeyId":"A"}"#.to_owned()), "sent no SecretAccessKey"),
        (Ok(format!("{SECRET} {{")), "did not print the JSON document that it should"),
        (
            Ok(r#"{"Version":"s3cr3t"}"#.to_owned()),
            "did not print the JSON document that it should",
        ),
        (
            Ok(format!(r#"{{"Version":1,{keys},"Expiration":"2020-01-01T00:00:00Z"}}"#)),
            "printed keys that have expired",
        ),
        (
            Ok(format!(r#"{{"Version":1,{keys},"Expiration":"{SECRET}"}}"#)),
            "sent an Expiration that is not a time",
        ),
        (Err("exit code 1".to_owned()), "failed: exit code 1"),
    ] {
        machine.program = Some(output);
        assert_eq!(
            machine.error(BEDROCK).await,
            format!("AWS profile: credential_process of profile \"default\" {problem}")
        );
    }
}

#[tokio::test]
async fn keys_of_a_container() {
    let answers = server(&[("200 OK", &keys_json("AKCONT"))]).await;
    let machine = Machine::new();
    let file = machine.file("token", "Basic s3cr3t-auth\n");
    machine.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &file);
    machine.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "not this one");
    machine.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", &format!("{}/creds?x=1", answers.url()));
    let found = machine.find(BEDROCK).await.unwrap();
    assert_eq!(aws_parts(&found), ["AKCONT", "s3cr3t-k", "s3cr3t-t"]);
    let requests = answers.requests();
    assert_eq!(line_and_body(&requests[0]).0, "GET /creds?x=1");
    assert_eq!(header(&requests[0], "authorization"), Some("Basic s3cr3t-auth"));

    machine.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://credentials.example/");
    assert_eq!(
        machine.error(BEDROCK).await,
        "AWS container: AWS_CONTAINER_CREDENTIALS_FULL_URI is refused: it is neither an https URL \
         nor on this machine nor the agent of ECS or EKS"
    );
    machine.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/");
    machine.file("token", "s3cr3t\r\nx-injected: 1");
    assert_eq!(
        machine.error(BEDROCK).await,
        "AWS container: the token of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE is empty or has line \
         breaks"
    );
}

#[tokio::test]
async fn keys_of_a_virtual_machine() {
    let keys = keys_json("AKVM");
    let answers =
        server(&[("200 OK", "s3cr3t-imds"), ("200 OK", "my-role\n"), ("200 OK", &keys)]).await;
    let machine = Machine::with(&[
        ("AWS_EC2_METADATA_DISABLED", "false"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &answers.url()),
    ]);
    let found = machine.find(BEDROCK).await.unwrap();
    assert_eq!(aws_parts(&found), ["AKVM", "s3cr3t-k", "s3cr3t-t"]);
    let requests = answers.requests();
    let lines: Vec<&str> = requests.iter().map(|request| line_and_body(request).0).collect();
    assert_eq!(
        lines,
        [
            "PUT /latest/api/token",
            "GET /latest/meta-data/iam/security-credentials/",
            "GET /latest/meta-data/iam/security-credentials/my-role",
        ]
    );
    assert_eq!(header(&requests[0], "x-aws-ec2-metadata-token-ttl-seconds"), Some("21600"));
    assert_eq!(header(&requests[2], "x-aws-ec2-metadata-token"), Some("s3cr3t-imds"));
}

#[tokio::test]
async fn problems_of_a_virtual_machine() {
    let token = ("200 OK", "s3cr3t-imds");
    let failed = ("200 OK", r#"{"Code":"Failed","Message":"x"}"#);
    let rows: &[(&[(&str, &str)], &str)] = &[
        (&[("404 Not Found", "")], "HOST answered with status 404"),
        (&[("403 Forbidden", "s3cr3t")], "HOST answered with status 403"),
        (&[("302 Found", "")], "HOST answered with status 302: redirects are not followed"),
        (&[("200 OK", "a b")], "HOST sent an answer that is not understood"),
        (&[token, ("404 Not Found", "")], "the virtual machine has no role"),
        (&[token, ("401 Unauthorized", "")], "HOST answered with status 401"),
        (&[token, ("200 OK", "../../x?y")], "HOST sent an answer that is not understood"),
        (&[token, ("200 OK", "")], "HOST sent an answer that is not understood"),
        (&[token, ("200 OK", "r"), failed], "HOST answered with status 200: Failed"),
        (
            &[token, ("200 OK", "r"), ("200 OK", "{\"AccessKeyId\": 7, \"x\": \"s3cr3t\"}")],
            "HOST sent an answer that is not understood",
        ),
        (&[token, ("200 OK", "r"), ("200 OK", "{}")], "the metadata service sent no AccessKeyId"),
    ];
    for (answers, expected) in rows {
        let answers = server(answers).await;
        let machine = Machine::with(&[
            ("AWS_EC2_METADATA_DISABLED", "false"),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", &answers.url()),
        ]);
        let error = machine.error(BEDROCK).await;
        let error = error.replace(&answers.addr.to_string(), "HOST");
        assert_eq!(error, format!("AWS instance metadata: {expected}"));
    }
}
