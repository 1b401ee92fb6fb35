//! The order of a sign-in, and what follows it.

use pi_protocol::CancelToken;
use pi_web::WebClient;
use pi_web::oauth::{
    self, Challenge, ClientSecret, Interaction, LoginMethod, LoginOptions, Metadata, OauthError,
    RefreshError, Service, ServiceError, Tokens,
};
use url::Url;

use super::credentials::{Client, Credentials, scopes_of};
use super::discover::{self, Target};
use super::scopes::Sources;
use super::settings::{Registration, Settings};

/// A sign-in to a server.
#[derive(Debug)]
pub struct SignIn<'a> {
    /// The URL of the server.
    pub server: &'a Url,
    /// The user's settings.
    pub settings: &'a Settings,
    /// The refusal of the server, which may name its metadata and scopes.
    pub challenge: Option<&'a Challenge>,
    /// Credentials of a former sign-in.
    pub previous: Option<&'a Credentials>,
    /// Does not ask for a pasted address.
    pub no_paste: bool,
    /// The address on which to wait for the browser, if it differs from that of the redirect.
    pub callback_host: Option<&'a str>,
    /// Time in which the user must consent, in seconds.
    pub timeout: Option<u64>,
}

/// Signs in to a server. The caller stores the credentials.
///
/// A cancelled sign-in ends at once, closes its port and sends nothing more.
pub async fn sign_in(
    web: &WebClient,
    request: &SignIn<'_>,
    interaction: &dyn Interaction,
    cancel: CancelToken,
) -> Result<Credentials, OauthError> {
    let found = discover::target(web, request.server, request.settings, request.challenge);
    let target = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(OauthError::Cancelled),
        target = found => target?,
    };
    require_proof_keys(request.server, &target.metadata)?;
    // A client of another issuer is unknown to this one, and its secret is none of its business.
    let previous = request.previous.filter(|known| known.issuer == target.metadata.issuer);
    let service = service(request, &target, previous)?;
    let mut options = LoginOptions::new(Some(LoginMethod::Browser));
    options.no_paste = request.no_paste;
    options.callback_host = request.callback_host.map(str::to_owned);
    options.previous = previous.map(Credentials::tokens);
    options.metadata = Some(target.metadata.clone());
    options.client_name.clone_from(&request.settings.client_name);
    let tokens = oauth::login(&service, web, interaction, options, cancel).await?;
    Ok(credentials(&service, target, tokens))
}

/// Refuses servers that do not announce proof keys: a stolen code would be enough there.
fn require_proof_keys(server: &Url, metadata: &Metadata) -> Result<(), OauthError> {
    let methods = metadata.challenge_methods.as_deref().unwrap_or_default();
    if methods.iter().any(|method| method == "S256") {
        return Ok(());
    }
    let service = format!("the authorization server of {}", server.host_str().unwrap_or_default());
    Err(OauthError::Unsupported { service, method: "proof keys with SHA-256" })
}

fn service(
    request: &SignIn<'_>,
    target: &Target,
    previous: Option<&Credentials>,
) -> Result<Service, OauthError> {
    let (settings, metadata) = (request.settings, &target.metadata);
    let is_step_up = request.challenge.is_some_and(Challenge::needs_scope);
    let granted = previous.filter(|_| is_step_up).map(|known| known.scopes.as_slice());
    let scopes = Sources {
        configured: &settings.scopes,
        challenged: request.challenge.map(|one| one.scopes.as_slice()).unwrap_or_default(),
        resource: &target.scopes,
        granted: granted.unwrap_or_default(),
        authorization_server: metadata.scopes.as_deref(),
    };
    let former = previous.and_then(|known| known.client.registered_for.as_deref());
    let former_port = former.and_then(|uri| Url::parse(uri).ok()?.port());
    let mut service = Service::default();
    service.name = request.server.host_str().map(str::to_owned);
    service.issuer = Some(metadata.issuer.clone());
    service.resource = Some(target.resource.clone());
    service.scopes = scopes.requested();
    service.redirect = Some(settings.redirect(former_port));
    service.login_timeout = request.timeout;
    // The real end is stored; the margin is applied when a token is used.
    service.expiry_margin = Some(0);
    service.client_id.clone_from(&settings.client_id);
    service.client_secret = settings.client_secret.clone().map(ClientSecret);
    service.client_metadata_url = document(settings, metadata)?;
    service.register = Some(true);
    Ok(service)
}

/// Returns the metadata document that serves as client id, if it is to be used.
fn document(settings: &Settings, metadata: &Metadata) -> Result<Option<String>, OauthError> {
    let accepted =
        settings.client_metadata_url.clone().filter(|_| metadata.accepts_metadata_documents);
    match settings.registration {
        Registration::Dynamic => Ok(None),
        Registration::Auto => Ok(accepted),
        Registration::MetadataDocument if accepted.is_some() => Ok(accepted),
        Registration::MetadataDocument => {
            let message = if settings.client_metadata_url.is_some() {
                "the authorization server does not accept client metadata documents: remove \
                 `clientRegistration`"
            } else {
                "`clientRegistration` \"cimd\" needs a `clientMetadataUrl`"
            };
            Err(ServiceError::Missing(message.to_owned()).into())
        }
    }
}

fn credentials(service: &Service, target: Target, tokens: Tokens) -> Credentials {
    let Target { metadata, resource, .. } = target;
    let client = Client::registered(&tokens).unwrap_or_else(|| {
        let document = service.client_metadata_url.clone();
        let secret = service.client_secret.as_ref().map(|secret| secret.0.clone());
        let uses_basic = secret.is_some() && metadata.prefers_basic();
        let id = service.client_id.clone().or(document).unwrap_or_default();
        Client { id, secret, uses_basic, registered_for: None }
    });
    let scopes = scopes_of(&tokens).unwrap_or_else(|| service.scopes.clone());
    Credentials {
        token_url: metadata.token_url,
        revoke_url: metadata.revoke_url,
        resource: Some(resource),
        client,
        refresh: tokens.refresh,
        expires: tokens.expires,
        scopes,
        ..Credentials::new(metadata.issuer, tokens.access)
    }
}

/// Renews credentials. A renewal that has begun must not be dropped, since the server may already
/// have replaced the tokens.
pub async fn refresh(
    web: &WebClient,
    credentials: &Credentials,
) -> Result<Credentials, RefreshError> {
    let tokens = oauth::refresh(&credentials.service(), web, &credentials.tokens()).await?;
    let mut renewed = credentials.clone();
    renewed.renew(tokens);
    Ok(renewed)
}

/// Revokes the tokens. Returns false if the server has no endpoint for that.
pub async fn revoke(web: &WebClient, credentials: &Credentials) -> Result<bool, OauthError> {
    oauth::revoke(&credentials.service(), web, &credentials.tokens()).await
}
