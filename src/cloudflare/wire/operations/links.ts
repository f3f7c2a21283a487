import * as endpoints from '../endpoints/links.ts';
import { createOperations } from '../operation.ts';
import { decisionLinks } from '../token.ts';

const operation = createOperations('Sessions');

const link = 'https://example.com/v1/decisions/eyJzZXNzaW9uIjoi';

export const createLinks = operation(endpoints.createLinks, {
	summary: 'Make links to decide about a call, once',
	description:
		'For a call that waits for an approval. Whoever has a link can decide, without a key. Where approvers of the agent would not let them approve, there are no links. A Worker without decision links does not have this.',
	examples: { call: { callId: 'call_1' } },
	answers: {
		201: {
			says: 'The links.',
			json: decisionLinks,
			examples: { links: { approve: link, deny: link, expiresAt: '2026-11-21T13:00:00.000Z' } },
		},
	},
	errors: [409, 413],
});

const page = { 'text/html': { example: '<!doctype html>' } };

export const showDecision = operation(endpoints.showDecision, {
	summary: 'Show the call of a link',
	description: 'The page has the exact call and one button, which sends the same address as a POST.',
	answers: { 200: { says: 'The page.', also: page } },
	errors: [409],
	failure: { also: page },
});

export const decide = operation(endpoints.decide, {
	summary: 'Decide by a link',
	description: 'Once, within the time of the link, and only while its call waits with the same arguments.',
	answers: { 200: { says: 'The page.', also: page } },
	errors: [403, 409],
	failure: { also: page },
});
