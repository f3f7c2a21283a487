import * as v from 'valibot';
import { rightNames, roles } from '../auth/rights.ts';
import { described, time } from './field.ts';

/** Who the caller is, and what the caller may do. */
export const me = v.object({
	kind: described(
		v.picklist(['key', 'account', 'token', 'local']),
		'How the request is identified: by an API key, by an account of the product, by the token of a session, or as this machine.',
	),
	id: described(v.string(), 'The id of the key or the token. For an account, its user or its owner.'),
	name: v.optional(described(v.string(), 'The name of a stored key.')),
	owner: v.string(),
	user: v.optional(v.string()),
	role: v.optional(described(v.picklist(roles), 'The role in the owner. A token has none.')),
	scopes: described(v.array(v.string()), 'The scopes of the key, the account or the token.'),
	rights: described(
		v.array(v.picklist(rightNames)),
		'What the caller may do within the owner, or a token in its session.',
	),
	session: v.optional(described(v.string(), 'The session that the token opens.')),
	expiresAt: v.optional(described(time, 'When the token expires.')),
});
