//! Texts with credentials: kind, text, and the secret part of the text.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::{ALNUM, BASE32, BASE64, HEX, random};

const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

/// Kind, prefix in two parts, alphabet, length.
const PREFIXED: &[(&str, &str, &str, &str, usize)] = &[
    ("anthropic-key", "sk-", "ant-api03-", URL, 95),
    ("anthropic-key", "sk-", "ant-oat01-", URL, 80),
    ("openai-key", "sk-", "proj-", URL, 156),
    ("openai-key", "sk-", "svcacct-", URL, 120),
    ("sk-key", "s", "k-", ALNUM, 48),
    ("sk-key", "s", "k-", HEX, 32),
    ("openrouter-key", "sk-", "or-v1-", HEX, 64),
    ("google-key", "AI", "za", URL, 35),
    ("google-token", "ya", "29.", URL, 100),
    ("google-secret", "GOC", "SPX-", URL, 28),
    ("github-token", "gh", "p_", ALNUM, 36),
    ("github-token", "gh", "o_", ALNUM, 36),
    ("github-token", "gh", "u_", ALNUM, 36),
    ("github-token", "gh", "s_", ALNUM, 36),
    ("github-token", "gh", "r_", ALNUM, 76),
    ("github-token", "github", "_pat_", URL, 82),
    ("gitlab-token", "gl", "pat-", URL, 20),
    ("gitlab-token", "gl", "rt-", URL, 20),
    ("aws-key-id", "AK", "IA", BASE32, 16),
    ("aws-key-id", "AS", "IA", BASE32, 16),
    ("slack-token", "xo", "xb-123456789012-", ALNUM, 24),
    ("slack-token", "xo", "xp-123456789012-", ALNUM, 32),
    ("stripe-key", "sk_", "live_", ALNUM, 24),
    ("stripe-key", "rk_", "live_", ALNUM, 24),
    ("webhook-secret", "wh", "sec_", BASE64, 32),
    ("npm-token", "np", "m_", ALNUM, 36),
    ("pypi-token", "py", "pi-AgEIcHlwaS5vcmc", URL, 150),
    ("huggingface-token", "h", "f_", ALNUM, 34),
    ("groq-key", "gs", "k_", ALNUM, 52),
    ("xai-key", "xa", "i-", ALNUM, 80),
    ("perplexity-key", "pp", "lx-", ALNUM, 48),
    ("nvidia-key", "nv", "api-", URL, 64),
    ("fireworks-key", "f", "w_", ALNUM, 24),
    ("replicate-token", "r", "8_", ALNUM, 37),
    ("twilio-key", "S", "K", HEX, 32),
    ("digitalocean-token", "dop", "_v1_", HEX, 64),
    ("docker-token", "dckr", "_pat_", URL, 27),
    ("databricks-token", "da", "pi", HEX, 32),
    ("vault-token", "hv", "s.", URL, 90),
    ("age-key", "AGE-SECRET", "-KEY-1", BASE32, 58),
];

pub(super) fn all() -> Vec<(&'static str, String, String)> {
    let mut cases = Vec::new();
    let mut add = |kind, text: String, secret: &str| cases.push((kind, text, secret.to_owned()));
    let texts = ["the key is {} as it seems", "x={}\n", "\"{}\",", "'{}'", "({})", "export A={};"];
    for (index, (kind, one, two, alphabet, long)) in PREFIXED.iter().enumerate() {
        let secret = format!("{one}{two}{}", random(index as u64 + 10, alphabet, *long));
        add(*kind, texts[index % texts.len()].replace("{}", &secret), &secret);
    }

    let jwt = format!(
        "{}.{}.{}",
        URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#),
        URL_SAFE_NO_PAD.encode(r#"{"sub":"1","admin":true}"#),
        random(100, URL, 43)
    );
    add("jwt", format!("got {jwt}."), &jwt);
    let installation = format!("{}{}_{jwt}", "gh", "s_12345");
    add("github-token", format!("token {installation}"), &installation);
    let sendgrid = format!("SG.{}.{}", random(101, URL, 22), random(102, URL, 43));
    add("sendgrid-key", format!("mail: {sendgrid}"), &sendgrid);
    let telegram = format!("123456789:AA{}", random(103, URL, 33));
    add("telegram-token", format!("https://api.telegram.org/bot{telegram}/getMe"), &telegram);
    let discord = format!(
        "{}.{}.{}",
        URL_SAFE_NO_PAD.encode("123456789012345678"),
        random(104, URL, 6),
        random(105, URL, 38)
    );
    add("discord-token", format!("bot {discord}"), &discord);
    let hook = format!(
        "services/T{}/B{}/{}",
        random(1, BASE32, 8),
        random(2, BASE32, 8),
        random(3, ALNUM, 24)
    );
    add("slack-webhook", format!("curl https://hooks.slack.com/{hook}"), &hook);
    let hook = format!("123456789012345678/{}", random(4, URL, 68));
    add("discord-webhook", format!("https://discord.com/api/webhooks/{hook}"), &hook);
    let sas = format!("{}%3D", random(5, ALNUM, 43));
    add("signature", format!("https://a.blob.core.windows.net/c?se=2030&sig={sas}"), &sas);

    for (text, secret) in [
        ("postgres://me:{}@db.example.com:5432/app", "hunter2"),
        ("https://user:{}@github.com/a/b.git", "s3cr3t-w0rd"),
        ("redis://:{}@localhost:6379", "p@ss:word"),
        ("mongodb+srv://app:{}@cluster0.abc.mongodb.net/x?y=1", "Kx9%2Fq"),
    ] {
        add("password", text.replace("{}", secret), secret);
    }
    let bearer = random(106, URL, 40);
    add("bearer-token", format!("Authorization: Bearer {bearer}"), &bearer);
    add("bearer-token", format!("-H 'authorization: bearer {bearer}' https://x"), &bearer);
    let words = "plainlettersonlykey";
    add("bearer-token", format!("\"Authorization\": \"Bearer {words}\""), words);
    let basic = STANDARD.encode("aladdin:open sesame");
    add("basic-credentials", format!("authorization: Basic {basic}"), &basic);
    let session = random(107, ALNUM, 32);
    add("cookie", format!("Set-Cookie: sid={session}; Path=/; HttpOnly"), &session);
    add("cookie", format!("Cookie: theme=dark; sessionid={session}; lang=en"), &session);

    let secret = random(108, ALNUM, 32);
    let slashed = random(109, BASE64, 40);
    let azure = format!("{}==", random(110, BASE64, 86));
    for (text, secret) in [
        ("API_KEY={}", &secret),
        ("export MISTRAL_API_KEY=\"{}\"", &secret),
        ("TOGETHER_API_KEY={} ./run", &secret),
        ("fireworks_key: {}", &secret),
        ("aws_secret_access_key = {}", &slashed),
        ("\"SecretAccessKey\": \"{}\",", &slashed),
        ("AccountName=a;AccountKey={};EndpointSuffix=core", &azure),
        ("AZURE_OPENAI_KEY={}", &secret),
        ("password: {}", &secret),
        ("  db_password: '{}'", &secret),
        ("const apiKey = \"{}\";", &secret),
        ("client_secret = \"{}\" # of the app", &secret),
        ("{\"accessToken\":\"{}\"}", &secret),
        ("{\\\"auth_token\\\": \\\"{}\\\"}", &secret),
        ("config[\"secret_key\"] = '{}'", &secret),
        (":password => \"{}\"", &secret),
        ("tool --api-key {} run", &secret),
        ("tool --password={} run", &secret),
        ("<password>{}</password>", &secret),
        ("x-api-key: {}", &secret),
        ("//registry.npmjs.org/:_authToken={}", &secret),
        ("SECRET_KEY_BASE={}", &secret),
        ("TWILIO_AUTH_TOKEN={}", &secret),
        ("curl 'https://x/y?access_token={}&page=2'", &secret),
        ("DB_PASS={}", &secret),
        ("machine_token := \"{}\"", &secret),
    ] {
        add("secret", text.replace("{}", secret), secret);
    }
    let uuid = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
    add("secret", format!("HEROKU_API_KEY={uuid}"), uuid);
    add("secret", "PASSWORD=Tr0ub4dor!3xY".to_owned(), "Tr0ub4dor!3xY");
    cases
}
