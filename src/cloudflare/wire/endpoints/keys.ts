import { createEndpoint } from '../endpoint.ts';
import { keyBody } from '../key.ts';

export const listKeys = createEndpoint('get', '/v1/keys', { access: 'admin' });

export const makeKey = createEndpoint('post', '/v1/keys', { access: 'keys', json: keyBody });

export const revokeKey = createEndpoint('delete', '/v1/keys/:keyId', { access: 'keys' });
