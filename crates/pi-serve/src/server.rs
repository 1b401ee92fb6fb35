//! The server: one handler for all requests. Entrance, identity, route, rights, handler, headers.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use pi_host::Host;
use pi_protocol::CancelToken;
use pi_web::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, ORIGIN,
    REFERRER_POLICY, SET_COOKIE, UPGRADE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use pi_web::http::{HeaderMap, Method, Request, Response, StatusCode};
use pi_web::server::{Body, Incoming, Limits, Peer, Routes, Tls, serve, serve_tls};
use tokio::net::TcpListener;

use crate::api::Call;
use crate::audit::{AuditOutcome, AuditRecord};
use crate::entrance::Identity;
use crate::entrance::gate::{self, Entrance};
use crate::entrance::guesses::Kind;
use crate::entrance::tokens::TokensError;
use crate::error::ApiError;
use crate::options::{Refused, ServeOptions};
use crate::routes::{self, Access, Reach, Route};
use crate::state::ServeState;

/// Pause between two looks at the tokens and at requests of other hosts.
const TEND: Duration = Duration::from_secs(1);

/// Most connections at a time. A page has one or two.
const CONNECTIONS: usize = 1024;

/// The longest head of a request.
const HEAD: usize = 32 << 10;

/// Reasons why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// The address can be reached by other machines, and tokens would be sent unencrypted.
    #[error("{0} is reachable from other machines, and connections would not be encrypted")]
    Unencrypted(SocketAddr),
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A server of sessions. Clones are the same server.
#[derive(Debug, Clone)]
pub struct Server {
    state: Arc<ServeState>,
}

impl Server {
    /// Creates a server over the sessions of a host.
    pub fn new(host: Host, options: ServeOptions) -> Result<Self, ServeError> {
        Ok(Self { state: Arc::new(ServeState::new(host, options)?) })
    }

    /// Returns what the handlers of the server share.
    pub fn state(&self) -> &Arc<ServeState> {
        &self.state
    }

    /// Sets the address of the listener before it serves, so that links can be made.
    pub fn set_address(&self, address: SocketAddr) {
        let _ = self.state.address.set(address);
    }

    /// Checks that a server may listen at an address.
    pub fn check(&self, address: SocketAddr) -> Result<(), ServeError> {
        let options = &self.state.options;
        match address.ip().is_loopback() || options.is_encrypted || options.insecure_lan {
            true => Ok(()),
            false => Err(ServeError::Unencrypted(address)),
        }
    }

    /// Returns the program's hint for an address that is refused.
    pub fn advice(&self, address: SocketAddr) -> Option<String> {
        (self.state.options.advice)(Refused::Unencrypted(address))
    }

    /// Serves requests until `stop`. Open streams end then; sessions stay with the host.
    pub async fn serve(
        &self,
        listener: TcpListener,
        tls: Option<Tls>,
        stop: CancelToken,
    ) -> Result<(), ServeError> {
        let address = listener.local_addr()?;
        self.check(address)?;
        self.set_address(address);
        let front = Arc::new(Front {
            entrance: Entrance::new(address, &self.state.options),
            routes: routes::routes(),
            state: Arc::clone(&self.state),
        });
        let handler = move |request: Request<Incoming>| {
            let front = Arc::clone(&front);
            async move { front.respond(request).await }
        };
        let mut limits = Limits::default();
        (limits.connections, limits.head_bytes) = (CONNECTIONS, HEAD);
        let state = Arc::clone(&self.state);
        let ended = stop.clone();
        let _stopping = stop.on_cancel(move || state.stop.cancel());
        let serving = async {
            match tls {
                Some(tls) => serve_tls(listener, tls, limits, stop, handler).await,
                None => serve(listener, limits, stop, handler).await,
            }
        };
        tokio::select! {
            () = serving => {}
            () = self.tend(&ended) => {}
        }
        Ok(())
    }

    /// Notices revoked tokens, requests of other hosts and idle sessions. Never ends.
    async fn tend(&self, stop: &CancelToken) {
        while !stop.is_cancelled() {
            tokio::time::sleep(TEND).await;
            // A file that cannot be read is reported by the next request.
            let _ = self.state.tokens.refresh();
            self.state.host.tend().await;
            self.state.lists.look(&self.state.host).await;
        }
        std::future::pending::<()>().await;
    }
}

/// The handler of all requests.
struct Front {
    entrance: Entrance,
    routes: Routes<&'static Route>,
    state: Arc<ServeState>,
}

/// The sender of a request, and how it was recognized.
struct Sender {
    identity: Identity,
    has_cookie: bool,
}

impl Front {
    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let peer = request.extensions().get::<Peer>();
        let peer = peer.map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0.ip().to_canonical());
        let method = request.method().clone();
        // A path has ids at most. What no route knows may be anything.
        let mut action = format!("{method} (unknown)");
        let mut session = None;
        let mut sender = None;
        let answer = self.answer(request, peer, &mut action, &mut session, &mut sender).await;
        let who = sender.as_ref().map(|sender| sender.identity.name.as_str());
        let is_change = !method.is_safe();
        let (outcome, reason) = match &answer {
            Ok(_) => (AuditOutcome::Done, None),
            Err(error) if is_refusal(error.status) => (AuditOutcome::Refused, Some(error.code)),
            Err(error) => (AuditOutcome::Failed, Some(error.code)),
        };
        if is_change || outcome == AuditOutcome::Refused {
            let mut record = AuditRecord::new(who, peer, &action).session(session.as_deref());
            record.outcome = outcome;
            record.reason = reason;
            self.state.audit.record(&record);
        }
        let mut response = answer.unwrap_or_else(ApiError::into_response);
        self.state.metrics.count(response.status());
        add_headers(response.headers_mut());
        response
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        peer: IpAddr,
        action: &mut String,
        session: &mut Option<String>,
        sender: &mut Option<Sender>,
    ) -> Result<Response<Body>, ApiError> {
        let path = request.uri().path().to_owned();
        let method = request.method().clone();
        self.entrance.check(&method, request.headers(), Route::purpose(&path))?;
        gate::check_query(request.uri().query())?;
        let (route, params) = self.routes.find(&method, &path)?;
        *action = format!("{method} {}", route.path);
        if route.access != Access::Open {
            let found = self.identify(request.headers(), peer)?;
            if found.has_cookie {
                self.check_cookie_request(&method, request.headers())?;
            }
            *sender = Some(found);
        }
        let has_bearer = request.headers().contains_key(AUTHORIZATION);
        if method == Method::POST || (!method.is_safe() && !has_bearer) {
            gate::check_content_type(request.headers())?;
        }
        let params: Option<Vec<String>> = params.into_iter().map(routes::decode).collect();
        let params = params.ok_or_else(ApiError::not_found)?;
        let identity = sender.as_ref().map(|sender| sender.identity.clone());
        if let Some(identity) = &identity {
            if let Access::Needs(right) = route.access {
                identity.require(right)?;
            }
            match route.reach {
                Reach::Session => {
                    let id = params.first().ok_or_else(ApiError::not_found)?;
                    identity.require_session(id)?;
                    *session = Some(id.clone());
                }
                Reach::Server if identity.session.is_some() => {
                    let message = format!("the token {:?} is for one session only", identity.name);
                    return Err(ApiError::forbidden("one_session", message));
                }
                Reach::Server | Reach::Filtered => {}
            }
        }
        let state = Arc::clone(&self.state);
        (route.handler)(Call { state, identity, peer, params, request }).await
    }

    /// Finds the sender of a request by its token or its cookie.
    fn identify(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Sender, ApiError> {
        let ServeState { tokens, cookies, guesses, .. } = &*self.state;
        if headers.contains_key(AUTHORIZATION) {
            if let Some(wait) = guesses.wait(peer, Kind::Token) {
                return Err(ApiError::too_many_guesses(wait));
            }
            let token = gate::bearer(headers).unwrap_or_default();
            if let Some(identity) = tokens.identify(token)? {
                guesses.forget(peer, Kind::Token);
                return Ok(Sender { identity, has_cookie: false });
            }
            guesses.count(peer, Kind::Token);
            return Err(unauthorized());
        }
        let Some(cookie) = cookies.value(headers) else { return Err(unauthorized()) };
        if let Some(wait) = guesses.wait(peer, Kind::Cookie) {
            return Err(ApiError::too_many_guesses(wait));
        }
        match cookies.identify(tokens, &cookie)? {
            Some(identity) => Ok(Sender { identity, has_cookie: true }),
            None => {
                guesses.count(peer, Kind::Cookie);
                let removal = cookies.removal();
                let error = ApiError::unauthorized();
                Err(match removal {
                    Some(removal) => error.with_header(SET_COOKIE, removal),
                    None => error,
                })
            }
        }
    }

    /// Refuses what a browser could have been made to send with the cookie of a user.
    fn check_cookie_request(&self, method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
        if headers.contains_key(UPGRADE) && !headers.contains_key(ORIGIN) {
            let message = "a WebSocket of a browser must have an origin";
            return Err(ApiError::forbidden("foreign_origin", message));
        }
        if method.is_safe() {
            return Ok(());
        }
        let cookies = &self.state.cookies;
        let cookie = cookies.value(headers);
        match cookie.is_some_and(|cookie| cookies.has_csrf(headers, &cookie)) {
            true => Ok(()),
            false => {
                let message = "the header x-pi-csrf is missing or wrong";
                Err(ApiError::forbidden("csrf", message))
            }
        }
    }
}

/// Refuses a request without a valid token.
fn unauthorized() -> ApiError {
    ApiError::unauthorized().with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}

/// Returns true if a status says that the sender may not do this.
fn is_refusal(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::MISDIRECTED_REQUEST
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::UNSUPPORTED_MEDIA_TYPE
    )
}

/// Adds what browsers need to know, unless the handler has said something else.
fn add_headers(headers: &mut HeaderMap) {
    const FIELDS: [(HeaderName, &str); 7] = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox"),
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in FIELDS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}
