//! Advice on what the user can do about a failure.

use pi_ai::{FailureKind as K, ProviderFailure, providers};

use super::{FailedRequest, Reader, credential, credential_name, is_login, similar_models};

/// Returns one imperative line; `None` if there is nothing to recommend.
pub(super) fn advice(failure: &ProviderFailure, request: &FailedRequest<'_>) -> Option<String> {
    let (model, reader) = (request.model, request.reader);
    let (provider, url, select) = (&model.provider, &model.base_url, reader.model());
    let other = format!("choose another model with {select}");
    Some(match failure.kind {
        K::RejectedCredential | K::Forbidden | K::ExpiredCredential => credential_advice(request),
        K::NoModelAccess if provider == "amazon-bedrock" => {
            format!("request access to the model in the Bedrock console of the region, or {other}")
        }
        K::NoModelAccess => format!("request access at {provider}, or {other}"),
        K::ApiNotEnabled => {
            "enable the API in the project: `gcloud services enable aiplatform.googleapis.com`, \
             then wait some minutes"
                .to_owned()
        }
        K::Region if provider == "amazon-bedrock" => {
            format!("set AWS_REGION to a region that has the model, or {other}")
        }
        K::Region => format!("{other}, of a provider that serves this country"),
        K::NeedsInferenceProfile => format!(
            "use the id of an inference profile, which begins with a region such as us. or eu.; {other}"
        ),
        K::NoCredit => format!("add credit to the account{}, or {other}", page(provider)),
        K::Quota => format!("wait until the quota is renewed, raise it at {provider}, or {other}"),
        K::PlanLimit if provider.starts_with("openai") => {
            format!("see the limits at https://chatgpt.com/settings/usage, wait, or {other}")
        }
        K::PlanLimit => format!("wait until the limit is reset, or {other}"),
        K::PlanExcludes => format!("use an API key: {}, or {other}", store_key(provider, reader)),
        K::RateLimit => match failure.pause {
            Some(seconds) => format!("wait {seconds} s, or {other}"),
            None => format!("wait, or {other}"),
        },
        K::Overloaded | K::ServerError => format!("try again later, or {other}"),
        K::TimedOut => format!("check the network, try again later, or {other}"),
        K::UnknownModel => unknown_model(request),
        K::UnknownDeployment => format!(
            "create a deployment \"{}\", or map the model to one with \
             AZURE_OPENAI_DEPLOYMENT_NAME_MAP={}=DEPLOYMENT",
            model.id, model.id
        ),
        K::ContentFilter => format!("rephrase the prompt, or {other}"),
        K::TooLarge => {
            let next = reader.choose("start a new session", "shorten the session with /compact");
            format!("{next}, or send fewer or smaller images")
        }
        K::NotTheApi => in_file(request, "check the address"),
        K::InvalidAddress => in_file(request, "correct the address"),
        K::Connection | K::UnknownHost => in_file(request, "check the network"),
        K::ProxyAuthentication => {
            "write user and password into the proxy's URL: http://USER:PASSWORD@HOST:PORT in \
             HTTPS_PROXY or in the setting httpProxy"
                .to_owned()
        }
        K::ProxyRefused => {
            "check HTTPS_PROXY and the setting httpProxy; NO_PROXY lists hosts that are connected \
             to directly"
                .to_owned()
        }
        K::PlainServer => {
            let plain = url.replacen("https://", "http://", 1);
            format!("use {plain} as baseUrl of {provider}")
        }
        K::TlsRequired => {
            let secure = url.replacen("http://", "https://", 1);
            format!("use {secure} as baseUrl of {provider}")
        }
        K::Certificate => "check the clock of this machine; if a proxy inspects TLS, add its \
                           certificate authority to those of the system, or set SSL_CERT_FILE"
            .to_owned(),
        K::ConnectionRefused if is_local(url) => {
            format!("start the server at {url}, or {other}")
        }
        K::ConnectionRefused => in_file(request, "check the network"),
        K::EndedEarly => {
            let again = "run the prompt again, for example with `pi -c`";
            reader.choose(again, "send the prompt again").to_owned()
        }
        K::InvalidHeader => format!(
            "{} may contain a line break or another control character; set it again without",
            credential(request)
        ),
        K::Unsupported => other,
        _ => return None,
    })
}

fn credential_advice(request: &FailedRequest<'_>) -> String {
    let provider = &request.model.provider;
    let sent = credential(request);
    if is_login(request) {
        if let Some(instead) = closed_login(request) {
            return instead;
        }
        let account = credential_name(request).account;
        let account = account.map(|name| format!(" --account {name}")).unwrap_or_default();
        let command = format!("sign in again with `pi auth login {provider}{account}`");
        return request.reader.choose(&command, "sign in again with /login").to_owned();
    }
    let check = format!("and see `pi auth check --provider {provider}`");
    format!("check {sent}, {}", request.reader.choose(&check, "or enter another one with /login"))
}

/// Returns the alternatives to a login that is not open to this program.
fn closed_login(request: &FailedRequest<'_>) -> Option<String> {
    let choices = request.registry?.login_methods(&request.model.provider);
    let instead = choices.first()?.instead.as_deref()?.trim_end_matches('.');
    let first = instead.chars().next()?;
    Some(format!("{}{}", first.to_lowercase(), instead.get(first.len_utf8()..)?))
}

fn store_key(provider: &str, reader: Reader) -> String {
    let command = format!("`pi auth set {provider}`");
    reader.choose(&command, "/login").to_owned()
}

fn unknown_model(request: &FailedRequest<'_>) -> String {
    let (provider, reader) = (&request.model.provider, request.reader);
    let list = format!("see all with --list-models {provider}");
    let all = reader.choose(&list, "choose another one with /model");
    let similar = similar_models(request);
    if similar.is_empty() {
        return all.to_owned();
    }
    format!("similar models of {provider} are {}; {all}", similar.join(", "))
}

/// Returns the page on which an account is charged, in parentheses.
fn page(provider: &str) -> String {
    let url = match provider {
        "anthropic" => "https://console.anthropic.com/settings/billing",
        "openai" => "https://platform.openai.com/settings/organization/billing",
        "openrouter" => "https://openrouter.ai/settings/credits",
        "deepseek" => "https://platform.deepseek.com/top_up",
        _ => return String::new(),
    };
    format!(" ({url})")
}

/// Adds the address and the file in which it can be changed.
fn in_file(request: &FailedRequest<'_>, what: &str) -> String {
    let (provider, url) = (&request.model.provider, &request.model.base_url);
    match providers::provider(provider) {
        Some(_) => format!("{what}; the address is {url}"),
        None => format!("{what}; the baseUrl of {provider} in models.json is {url}"),
    }
}

/// Returns true if the URL points to this machine.
fn is_local(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    ["localhost", "127.", "[::1]"].iter().any(|start| host.starts_with(start))
}
