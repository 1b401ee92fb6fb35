//! The cache of found credentials.

use std::collections::BTreeSet;

use pi_web::cloud::{CloudCache, CloudError};

use super::{Machine, aws_parts, server, token};
use crate::server::Server;

const ANTHROPIC: &str = "anthropic";

fn answer(token: &str, seconds: u64) -> String {
    format!(r#"{{"access_token":"{token}","expires_in":{seconds}}}"#)
}

fn machine(server: &Server) -> Machine {
    let mut machine = Machine::with(&[
        ("ANTHROPIC_FEDERATION_RULE_ID", "fdrl_1"),
        ("ANTHROPIC_IDENTITY_TOKEN_FILE", "~/token"),
        ("ANTHROPIC_ORGANIZATION_ID", "org1"),
    ]);
    machine.file("token", "s3cr3t.JWT");
    machine.base_url = Some(server.url());
    machine
}

#[tokio::test]
async fn concurrent_requests_share_one_search() {
    let endpoint = server(&[("200 OK", &answer("s3cr3t-1", 3600))]).await;
    let machine = machine(&endpoint);
    let cache = CloudCache::new();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (cache, surroundings) = (cache.clone(), machine.surroundings());
        tasks.spawn(async move { cache.find(ANTHROPIC, &surroundings, None).await });
    }
    for result in tasks.join_all().await {
        assert_eq!(token(&result.unwrap()), "s3cr3t-1");
    }
    cache.find(ANTHROPIC, &machine.surroundings(), None).await.unwrap();
    assert_eq!(endpoint.requests().len(), 1);
    assert!(!format!("{cache:?}").contains("s3cr3t"));
}

#[tokio::test]
async fn a_failure_is_shared_by_waiting_requests_and_not_kept() {
    let endpoint = server(&[("500 Oops", ""), ("200 OK", &answer("s3cr3t-1", 3600))]).await;
    let machine = machine(&endpoint);
    let (cache, surroundings) = (CloudCache::new(), machine.surroundings());
    let find = || cache.find(ANTHROPIC, &surroundings, None);
    let (first, second, third) = tokio::join!(find(), find(), find());
    for result in [first, second, third] {
        assert!(matches!(result, Err(CloudError::Failed { .. })), "{result:?}");
    }
    assert_eq!(endpoint.requests().len(), 1);
    assert_eq!(token(&find().await.unwrap()), "s3cr3t-1");
}

#[tokio::test]
async fn a_rejected_or_ending_credential_is_replaced() {
    let answers = [answer("s3cr3t-1", 3600), answer("s3cr3t-2", 299), answer("s3cr3t-3", 3600)];
    let answers: Vec<(&str, &str)> = answers.iter().map(|body| ("200 OK", body.as_str())).collect();
    let endpoint = server(&answers).await;
    let machine = machine(&endpoint);
    let (cache, surroundings) = (CloudCache::new(), machine.surroundings());
    let first = cache.find(ANTHROPIC, &surroundings, None).await.unwrap();
    let rejected = first.authorization();
    let second = cache.find(ANTHROPIC, &surroundings, Some(&rejected)).await.unwrap();
    assert_eq!(token(&second), "s3cr3t-2");
    let third = cache.find(ANTHROPIC, &surroundings, None).await.unwrap();
    assert_eq!(token(&third), "s3cr3t-3", "less than five minutes were left");
    // Another request reports the old credential late, and must not cause a search.
    let late = cache.find(ANTHROPIC, &surroundings, Some(&rejected)).await.unwrap();
    assert_eq!((token(&late), endpoint.requests().len()), ("s3cr3t-3", 3));
}

/// A cancelled request must not lose a login that the server has already renewed.
#[tokio::test]
async fn a_search_that_has_begun_comes_to_its_end() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut machine = Machine::with(&[
        ("ANTHROPIC_FEDERATION_RULE_ID", "fdrl_1"),
        ("ANTHROPIC_IDENTITY_TOKEN_FILE", "~/token"),
        ("ANTHROPIC_ORGANIZATION_ID", "org1"),
    ]);
    machine.file("token", "s3cr3t.JWT");
    machine.base_url = Some(format!("http://{}", listener.local_addr().unwrap()));
    let (cache, surroundings) = (CloudCache::new(), machine.surroundings());
    let mut search = Box::pin(cache.find(ANTHROPIC, &surroundings, None));
    let mut socket = tokio::select! {
        accepted = listener.accept() => accepted.unwrap().0,
        _ = &mut search => panic!("there was no answer"),
    };
    drop(search);
    let body = answer("s3cr3t-1", 3600);
    let response = crate::server::response("200 OK", &[], body);
    tokio::io::AsyncWriteExt::write_all(&mut socket, &response).await.unwrap();
    let found = cache.find(ANTHROPIC, &surroundings, None).await.unwrap();
    assert_eq!(token(&found), "s3cr3t-1", "no second connection is accepted");
}

#[tokio::test]
async fn other_variables_are_another_search() {
    let machine = Machine::with(&[("AWS_PROFILE", "a")]);
    machine.file(
        ".aws/credentials",
        "[a]\naws_access_key_id=A\naws_secret_access_key=s3cr3t\n\
         [b]\naws_access_key_id=B\naws_secret_access_key=s3cr3t\n",
    );
    let cache = CloudCache::new();
    for name in ["a", "b", "a"] {
        machine.set("AWS_PROFILE", name);
        let found = cache.find("amazon-bedrock", &machine.surroundings(), None).await.unwrap();
        assert_eq!(aws_parts(&found)[0], name.to_uppercase());
    }
}

/// A variable that is missing in the list of a chain would not change the key of the cache.
#[tokio::test]
async fn the_key_has_every_variable_that_is_read() {
    let web = server(&[]).await;
    let role = "[default]\nrole_arn=r\ncredential_source=Ec2InstanceMetadata\n";
    let sso = "[default]\nsso_session=s\nsso_account_id=1\nsso_role_name=r\n[sso-session s]\n\
               sso_start_url=u\nsso_region=x\n";
    let login = r#"{"accessToken":"a","expiresAt":"2096-01-01T00:00:00Z"}"#;
    let adc = r#"{"type":"external_account","audience":"a","subject_token_type":"t","token_url":"https://x.example","credential_source":{"environment_id":"aws1"}}"#;
    let url = web.url();
    let sets: &[(&str, &[(&str, &str)], &[(&str, &str)])] = &[
        ("amazon-bedrock", &[("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")], &[]),
        (
            "amazon-bedrock",
            &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)],
            &[(".aws/config", role)],
        ),
        (
            "amazon-bedrock",
            &[("AWS_ENDPOINT_URL", &url)],
            &[
                (".aws/config", sso),
                (".aws/sso/cache/a0f1490a20d0211c997b44bc357e1972deab8ae3.json", login),
            ],
        ),
        (
            "amazon-bedrock",
            &[
                ("AWS_WEB_IDENTITY_TOKEN_FILE", "~/t"),
                ("AWS_ROLE_ARN", "r"),
                ("AWS_ENDPOINT_URL_STS", &url),
            ],
            &[("t", "t")],
        ),
        ("amazon-bedrock", &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", &url)], &[]),
        ("google-vertex", &[("GOOGLE_APPLICATION_CREDENTIALS", "~/a")], &[("a", adc)]),
        ("google-vertex", &[("GCE_METADATA_HOST", "127.0.0.1:1")], &[]),
        ("azure", &[("AZURE_CLIENT_SECRET", "x"), ("AZURE_TENANT_ID", "t")], &[]),
        ("azure", &[("IDENTITY_ENDPOINT", &url), ("IDENTITY_HEADER", "x")], &[]),
        ("azure", &[("AZURE_FEDERATED_TOKEN_FILE", "~/t")], &[("t", "t")]),
        ("azure", &[("AZURE_TOKEN_CREDENTIALS", "dev")], &[]),
        ("anthropic", &[("ANTHROPIC_FEDERATION_RULE_ID", "x")], &[]),
    ];
    for (provider, variables, files) in sets {
        let mut machine = Machine::with(variables);
        machine.program = Some(Err("no".to_owned()));
        machine.base_url = Some(web.url());
        for (path, text) in *files {
            machine.file(path, text);
        }
        let surroundings = machine.surroundings();
        let _ = pi_web::cloud::find(provider, &surroundings).await;
        let read: BTreeSet<String> = machine.read.lock().unwrap().drain(..).collect();
        let keyed = pi_web::cloud::variables(provider);
        let missing: Vec<&String> =
            read.iter().filter(|name| !keyed.contains(&name.as_str())).collect();
        assert!(missing.is_empty(), "{provider}: {missing:?}");
    }
}
