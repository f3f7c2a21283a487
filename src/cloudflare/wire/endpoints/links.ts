import { createEndpoint } from '../endpoint.ts';
import { linkBody } from '../token.ts';

export const createLinks = createEndpoint('post', '/v1/sessions/:id/links', {
	access: 'manageSession',
	json: linkBody,
});

export const showDecision = createEndpoint('get', '/v1/decisions/:link', { access: 'anybody', ignoresQuery: true });

export const decide = createEndpoint('post', '/v1/decisions/:link', { access: 'anybody', ignoresQuery: true });
