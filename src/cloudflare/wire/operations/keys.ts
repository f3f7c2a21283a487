import { keyList } from '../key.ts';
import { operation } from '../operation.ts';

const scopes = ['run'];

export const listKeys = operation({
	id: 'listKeys',
	method: 'get',
	path: '/v1/keys',
	tag: 'Keys',
	summary: 'List the API keys that this Worker knows',
	description:
		'Shows ids, never the keys themselves. The keys are in a secret that a Worker cannot write: `npm run keys` makes, rotates and revokes them.',
	access: 'admin',
	answers: {
		200: {
			says: 'All keys.',
			json: keyList,
			examples: {
				rotated: {
					keys: [
						{ id: '015i5xqv0sdf', owner: 'shop', scopes, expiresAt: '2026-11-28T12:00:00Z', isOver: false },
						{ id: '7kq2mzt1v9xe', owner: 'shop', scopes, isOver: false },
					],
				},
			},
		},
	},
});
