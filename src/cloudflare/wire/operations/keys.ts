import * as endpoints from '../endpoints/keys.ts';
import { keyList, newKey } from '../key.ts';
import { createOperations } from '../operation.ts';

const operation = createOperations('Keys');

const shop = { id: '7kq2mzt1v9xe', owner: 'shop', role: 'admin', scopes: ['run'], isOver: false };

export const listKeys = operation(endpoints.listKeys, {
	summary: 'List the API keys that this Worker knows',
	description: 'The keys of the secret and the stored keys. Shows ids, never the keys themselves.',
	answers: {
		200: {
			says: 'All keys.',
			json: keyList,
			examples: {
				rotated: {
					keys: [
						{ ...shop, id: '015i5xqv0sdf', user: 'kim', expiresAt: '2026-11-28T12:00:00Z', isStored: false },
						{ ...shop, isStored: false },
					],
				},
			},
		},
	},
});

export const makeKey = operation(endpoints.makeKey, {
	summary: 'Make an API key',
	description: 'Needs `STORED_KEYS = "on"`. The key opens its owner’s sessions at once, here and at all other places.',
	examples: {
		customer: { owner: 'shop', budget: { usd: 5 } },
		colleague: { owner: 'shop', user: 'kim', role: 'staff' },
	},
	answers: {
		201: {
			says: 'The key. This is the only time that it is shown.',
			json: newKey,
			examples: {
				customer: {
					...shop,
					budget: { usd: 5 },
					isStored: true,
					key: 'rl_7kq2mzt1v9xe_Hn1bYV5cQvWm3oE6sJ0kTzR8uXaL2dPf4gNiBqCtMwS',
				},
			},
		},
	},
	errors: [409],
});

export const revokeKey = operation(endpoints.revokeKey, {
	summary: 'Revoke an API key',
	description:
		'Revokes a stored key. Within a minute it is invalid everywhere, and so are its tokens. A key of the secret is revoked with `npm run keys`.',
	answers: { 204: { says: 'The key is revoked.' } },
	errors: [409],
});
