import * as v from 'valibot';
import { createEndpoint } from '../endpoint.ts';

export const getHealth = createEndpoint('get', '/healthz', {
	access: 'anybody',
	query: v.object({ deep: v.optional(v.pipe(v.string(), v.maxLength(20))) }),
});

export const getDocument = createEndpoint('get', '/openapi.json', { access: 'anybody' });

export const getDocs = createEndpoint('get', '/docs', { access: 'anybody', ignoresQuery: true });

export const getMe = createEndpoint('get', '/v1/me', { access: 'caller' });
