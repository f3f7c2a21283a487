import * as v from 'valibot';
import { listRights } from '../../auth/rights.ts';
import * as endpoints from '../endpoints/service.ts';
import { me } from '../me.ts';
import { createOperations } from '../operation.ts';
import * as example from './shared.ts';

const operation = createOperations('Service');

export const getHealth = operation(endpoints.getHealth, {
	summary: 'Check that the Worker runs',
	description:
		'With `?deep` and a key with the role admin it also checks the setup: the variables, and all that the agents need. `?deep=deployed` judges a Worker of this machine as a deployed one. If something is wrong, the answer is 503 with `problems`.',
	answers: {
		200: {
			says: 'The Worker runs.',
			json: v.object({
				status: v.literal('ok'),
				problems: v.optional(
					v.array(v.object({ where: v.string(), message: v.string(), unset: v.optional(v.string()) })),
				),
			}),
			examples: { ok: { status: 'ok' } },
		},
	},
	ownErrors: {
		503: 'The setup has problems: `problems` is a list of `{ where, message, unset? }`. Each names the variable or the agent, and what to do; `unset` is a variable that is not set.',
	},
});

export const getDocument = operation(endpoints.getDocument, {
	summary: 'This document',
	answers: {
		200: { says: 'An OpenAPI 3.1 document.', json: v.looseObject({ openapi: v.string() }) },
	},
});

export const getDocs = operation(endpoints.getDocs, {
	summary: 'Show this document as a page',
	answers: { 200: { says: 'A page.', also: { 'text/html': { example: '<!doctype html>' } } } },
});

export const getMe = operation(endpoints.getMe, {
	summary: 'Show who the caller is',
	description:
		'The name, the role and the rights of the key, the account or the session token of the request. A page shows only what its reader may do.',
	answers: {
		200: {
			says: 'The caller.',
			json: me,
			examples: {
				key: {
					...{ kind: 'key', id: '015i5xqv0sdf', owner: 'shop', user: 'kim', role: 'staff', scopes: ['run'] },
					rights: listRights({ role: 'staff' }),
				},
				token: {
					...{ kind: 'token', id: example.token.tokenId, owner: 'shop', user: 'ada', scopes: ['read'] },
					...{ rights: listRights({ scopes: ['read'] }), session: example.session.id },
					expiresAt: example.token.tokenExpiresAt,
				},
			},
		},
	},
	errors: [404],
});
