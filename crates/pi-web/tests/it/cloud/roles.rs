//! Roles of AWS: STS, chains of profiles, web identities.

use super::{Machine, SECRET, aws_parts, header, line_and_body, server};

const BEDROCK: &str = "amazon-bedrock";

/// Returns an answer of STS.
fn answer(id: &str) -> String {
    format!(
        "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\n\
         <AssumeRoleResult><AssumedRoleUser><Arn>x</Arn></AssumedRoleUser><Credentials>\n\
         <AccessKeyId>{id}</AccessKeyId><SecretAccessKey>{SECRET}-{id}</SecretAccessKey>\n\
         <SessionToken>{SECRET}/+=&amp;{id}</SessionToken><Expiration>2096-01-01T00:00:00Z</Expiration>\n\
         </Credentials></AssumeRoleResult></AssumeRoleResponse>"
    )
}

#[tokio::test]
async fn roles_are_assumed_one_after_the_other() {
    let sts = server(&[("200 OK", &answer("FIRST")), ("200 OK", &answer("SECOND"))]).await;
    let machine = Machine::with(&[("AWS_PROFILE", "outer"), ("AWS_ENDPOINT_URL_STS", &sts.url())]);
    machine.file(
        ".aws/config",
        "[profile outer]\nrole_arn = arn:outer\nsource_profile = inner\nexternal_id = ext id\n\
         duration_seconds = 900\nrole_session_name = me\nregion = eu-central-1\n\
         [profile inner]\nrole_arn = arn:inner\nsource_profile = base\n",
    );
    machine.file(
        ".aws/credentials",
        "[base]\naws_access_key_id = AKBASE\naws_secret_access_key = s3cr3t\n",
    );
    let found = machine.find(BEDROCK).await.unwrap();
    assert_eq!(aws_parts(&found), ["SECOND", "s3cr3t-SECOND", "s3cr3t/+=&SECOND"]);
    assert_eq!(found.env["AWS_REGION"], "eu-central-1");
    let requests = sts.requests();
    let (line, body) = line_and_body(&requests[0]);
    assert_eq!(line, "POST /");
    let start = "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Ainner&RoleSessionName=pi-";
    assert!(body.starts_with(start), "{body}");
    let signed = header(&requests[0], "authorization").unwrap();
    assert!(signed.starts_with("AWS4-HMAC-SHA256 Credential=AKBASE/"), "{signed}");
    assert!(signed.contains("/eu-central-1/sts/aws4_request"), "{signed}");
    assert_eq!(
        line_and_body(&requests[1]).1,
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aouter&RoleSessionName=me\
         &DurationSeconds=900&ExternalId=ext%20id"
    );
    let signed = header(&requests[1], "authorization").unwrap();
    assert!(signed.starts_with("AWS4-HMAC-SHA256 Credential=FIRST/"), "{signed}");
    assert_eq!(header(&requests[1], "x-amz-security-token"), Some("s3cr3t/+=&FIRST"));
}

#[tokio::test]
async fn a_role_with_its_own_keys_or_those_of_the_environment() {
    let own = "[default]\nrole_arn = arn:r\nsource_profile = default\n\
               aws_access_key_id = AKOWN\naws_secret_access_key = s3cr3t\n";
    let environment = "[default]\nrole_arn = arn:r\ncredential_source = Environment\n";
    let named = &[
        ("AWS_PROFILE", "default"),
        ("AWS_ACCESS_KEY_ID", "AKENV"),
        ("AWS_SECRET_ACCESS_KEY", "s3cr3t"),
    ];
    for (config, signer) in [(own, "AKOWN"), (environment, "AKENV")] {
        let sts = server(&[("200 OK", &answer("ROLE"))]).await;
        let machine = Machine::with(named);
        machine.set("AWS_ENDPOINT_URL", &format!("{}/", sts.url()));
        machine.file(".aws/config", config);
        assert_eq!(aws_parts(&machine.find(BEDROCK).await.unwrap())[0], "ROLE");
        let requests = sts.requests();
        let signed = header(&requests[0], "authorization").unwrap();
        assert!(signed.contains(&format!("Credential={signer}/")), "{signed}");
        assert!(signed.contains("/us-east-1/sts/"), "{signed}");
    }
}

#[tokio::test]
async fn invalid_profiles() {
    for (config, expected) in [
        (
            "[default]\nrole_arn=r\nsource_profile=a\n[profile a]\nrole_arn=r\nsource_profile=b\n\
             [profile b]\nrole_arn=r\nsource_profile=a",
            "the roles of the profiles default → a → b → a depend on each other",
        ),
        (
            "[default]\nrole_arn=r\nsource_profile=default",
            "the roles of the profiles default → default depend on each other",
        ),
        (
            "[default]\nrole_arn=r\nsource_profile=gone",
            "profile \"gone\", the source of profile \"default\", does not exist; the profiles are \
             default",
        ),
        (
            "[default]\nrole_arn=r\nsource_profile=a\n[profile a]\nregion=x",
            "profile \"a\", which is the source of a role, has no credentials",
        ),
        (
            "[default]\nrole_arn=r",
            "profile \"default\" has a role_arn; it needs source_profile or credential_source, and \
             not both",
        ),
        (
            "[default]\nrole_arn=r\ncredential_source=Moon",
            "profile \"default\": invalid credential_source \"Moon\": expected Environment, \
             Ec2InstanceMetadata or EcsContainer",
        ),
        (
            "[default]\nrole_arn=r\nsource_profile=a\nmfa_serial=arn:mfa",
            "profile \"default\" needs a code of the device arn:mfa, which is not supported; use \
             temporary keys or `aws sso login`",
        ),
        (
            "[default]\nlogin_session=arn:x",
            "profile \"default\" is a login with `aws login`, which is not supported; use a profile \
             with `credential_process = aws configure export-credentials --profile default --format \
             process`",
        ),
        (
            "[default]\nsso_session=x\nsso_account_id=1\nsso_role_name=r",
            "profile \"default\": there is no section [sso-session x]",
        ),
        (
            "[default]\nsso_start_url=x\nsso_region=y\nsso_account_id=1",
            "profile \"default\" has no sso_role_name",
        ),
    ] {
        let machine = Machine::new();
        machine.file(".aws/config", config);
        assert_eq!(machine.error(BEDROCK).await, format!("AWS profile: {expected}"));
        assert!(machine.explain(BEDROCK).contains(&format!("! AWS profile: {expected}\n")));
    }
}

#[tokio::test]
async fn refusals_of_sts_have_the_reason_and_no_secret() {
    let error = "<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredToken</Code>\
                 <Message>The token s3cr3t-web\nhas  expired &amp; more</Message></Error></ErrorResponse>";
    for (status, body, expected) in [
        (
            "403 Forbidden",
            error,
            "status 403: ExpiredToken: The token [redacted] has expired & more",
        ),
        ("500 Oops", "s3cr3t-web", "status 500"),
        ("200 OK", "<Credentials><AccessKeyId>A</AccessKeyId></Credentials>", ""),
        (
            "200 OK",
            "<AccessKeyId>A</AccessKeyId><SecretAccessKey>s3cr3t</SecretAccessKey>\
                    <SessionToken>s3cr3t</SessionToken><Expiration>never</Expiration>",
            "",
        ),
        ("307 Temporary Redirect", "", "status 307: redirects are not followed"),
    ] {
        let sts = server(&[(status, body)]).await;
        let machine = Machine::with(&[
            ("AWS_ENDPOINT_URL_STS", &sts.url()),
            ("AWS_ROLE_ARN", "arn:role"),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", "~/token"),
        ]);
        machine.file("token", "s3cr3t-web\n");
        let expected = match expected {
            "" => format!("{} sent an answer that is not understood", sts.addr),
            expected => format!("{} answered with {expected}", sts.addr),
        };
        assert_eq!(
            machine.error(BEDROCK).await,
            format!("AWS web identity: the role arn:role cannot be assumed: {expected}")
        );
    }
}

#[tokio::test]
async fn a_web_identity_of_variables_or_of_a_profile() {
    let sts = server(&[("200 OK", &answer("WEB")), ("200 OK", &answer("PROFILE"))]).await;
    let machine = Machine::with(&[
        ("AWS_ENDPOINT_URL_STS", &sts.url()),
        ("AWS_ROLE_ARN", "arn:role"),
        ("AWS_ROLE_SESSION_NAME", "job-1"),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "~/token"),
    ]);
    machine.file("token", "s3cr3t-web\n");
    let found = machine.find(BEDROCK).await.unwrap();
    assert_eq!((found.source, aws_parts(&found)[0].as_str()), ("AWS web identity", "WEB"));
    let requests = sts.requests();
    assert_eq!(
        line_and_body(&requests[0]).1,
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Arole\
         &RoleSessionName=job-1&WebIdentityToken=s3cr3t-web"
    );
    assert_eq!(header(&requests[0], "authorization"), None, "the request is not signed");

    machine.file(".aws/config", "[default]\nrole_arn = arn:p\nweb_identity_token_file = ~/token\n");
    let found = machine.find(BEDROCK).await.unwrap();
    assert_eq!((found.source, aws_parts(&found)[0].as_str()), ("AWS profile", "PROFILE"));
}

#[tokio::test]
async fn files_of_a_web_identity() {
    let machine =
        Machine::with(&[("AWS_WEB_IDENTITY_TOKEN_FILE", "~/token"), ("AWS_ROLE_ARN", "arn:r")]);
    for (content, expected) in [
        (None, "the file ~/token does not exist"),
        (Some(" \n"), "the token file ~/token is empty"),
        (Some("s3cr3t two"), "the token file ~/token has more than one token"),
        (Some(&*"x".repeat(2 << 20)), "the file ~/token cannot be read: it is larger than 1 MiB"),
    ] {
        if let Some(content) = content {
            machine.file("token", content);
        }
        assert_eq!(machine.error(BEDROCK).await, format!("AWS web identity: {expected}"));
    }
    let machine = Machine::with(&[("AWS_WEB_IDENTITY_TOKEN_FILE", "~/token")]);
    assert_eq!(
        machine.error(BEDROCK).await,
        "AWS web identity: AWS_ROLE_ARN is not set; it is required beside AWS_WEB_IDENTITY_TOKEN_FILE"
    );
}
