// Starts oidc-provider, a certified authorization server, with rotation of refresh tokens.
// Arguments: the package's main file, the port.
import { pathToFileURL } from 'node:url';
const [main, port] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(main).href);
const device = 'urn:ietf:params:oauth:grant-type:device_code';
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'pi-test',
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token', device],
      response_types: ['code'],
    },
    {
      client_id: 'pi-secret',
      client_secret: 'a secret/with+signs',
      application_type: 'native',
      token_endpoint_auth_method: 'client_secret_post',
      redirect_uris: ['http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
  ],
  features: {
    deviceFlow: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      getResourceServerInfo: () => ({ scope: 'api', accessTokenFormat: 'jwt', accessTokenTTL: 30 }),
    },
  },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async () => true,
  scopes: ['openid', 'offline_access', 'api'],
  claims: { openid: ['sub', 'email'] },
  conformIdTokenClaims: false,
  ttl: { AccessToken: 3600, DeviceCode: 60, RefreshToken: 7200 },
  findAccount: (context, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com` }) }),
});
provider.listen(Number(port), '127.0.0.1');
