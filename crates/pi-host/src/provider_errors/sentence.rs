//! A sentence on what happened.

use pi_ai::{FailureKind as K, ProviderFailure};

use super::{FailedRequest, is_login};

/// Returns what happened; `None` if the text of the error says it already.
pub(super) fn sentence(failure: &ProviderFailure, request: &FailedRequest<'_>) -> Option<String> {
    let provider = &request.model.provider;
    let kind = if is_login(request) { "login" } else { "key" };
    Some(match failure.kind {
        K::RejectedCredential => format!("{provider} rejected the {kind}"),
        K::ExpiredCredential if failure.status.is_some() => format!("the {kind} has expired"),
        K::Forbidden => format!("{provider} accepted the {kind} and denied access"),
        K::NoModelAccess => "the account has no access to this model".to_owned(),
        K::ApiNotEnabled => "the API is not enabled in the cloud project".to_owned(),
        K::Region => format!("{provider} does not serve this country or region"),
        K::NeedsInferenceProfile => "this model requires an inference profile".to_owned(),
        K::NoCredit => format!("the account at {provider} has no credit left"),
        K::Quota => format!("a quota of the account at {provider} is used up"),
        K::PlanLimit => "the usage limit of the subscription is reached".to_owned(),
        K::PlanExcludes => "the subscription does not cover this request".to_owned(),
        K::RateLimit => format!("{provider} received too many requests"),
        K::Overloaded => format!("{provider} is overloaded"),
        K::ServerError => format!("{provider} failed"),
        K::UnknownModel => format!("{provider} does not have this model"),
        K::UnknownDeployment => format!("{provider} does not have this deployment"),
        K::ContentFilter => "a content filter stopped the request".to_owned(),
        K::TooLarge => "the request is too large".to_owned(),
        K::InvalidRequest => format!("{provider} rejected the request"),
        K::NotTheApi => "the server does not answer like the API".to_owned(),
        K::ProxyAuthentication => "the proxy requires a user name and a password".to_owned(),
        K::ProxyRefused => "the proxy did not connect".to_owned(),
        K::PlainServer => "the server does not speak TLS".to_owned(),
        K::TlsRequired => "the server requires TLS".to_owned(),
        K::Certificate => "the certificate of the server is not trusted".to_owned(),
        K::UnknownHost => "the name of the server cannot be resolved".to_owned(),
        K::ConnectionRefused => "no server accepts connections at the address".to_owned(),
        K::TimedOut => format!("{provider} did not answer in time"),
        K::EndedEarly => "the answer ended early".to_owned(),
        _ => return None,
    })
}
