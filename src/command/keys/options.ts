import { type KeyOptions, type Scope, scopes } from '../../cloudflare/auth/key.ts';
import { type Role, roles } from '../../cloudflare/auth/rights.ts';

/** The options of `keys make`, as text. */
type Values = Readonly<
	Partial<Record<'owner' | 'user' | 'role' | 'scope' | 'day-tokens' | 'day-usd' | 'rate', string | undefined>>
>;

/** Parses the options of a new key. Throws a `TypeError` that names the wrong option. */
export function toKeyOptions(values: Values, name?: string): KeyOptions {
	const { owner, user, role, scope, 'day-tokens': tokens, 'day-usd': usd, rate } = values;
	const budget = { ...parseAmount('day-tokens', tokens, /^\d+$/), ...parseAmount('day-usd', usd, /^\d+(\.\d+)?$/) };
	return {
		name,
		owner,
		user,
		...(role !== undefined && { role: parseRole(role) }),
		...(scope !== undefined && { scopes: parseScopes(scope) }),
		...(Object.keys(budget).length > 0 && { budget }),
		...(rate !== undefined && { rate: parseRate(rate) }),
	};
}

function parseRate(given: string): number {
	if (/^[1-9]\d{0,6}$/.test(given) && Number(given) <= 1_000_000) return Number(given);
	throw new TypeError(`--rate ${given}: expected a whole number of requests from 1 to 1000000.`);
}

function parseRole(given: string): Role {
	const role = roles.find((one) => one === given);
	if (role === undefined) throw new TypeError(`--role ${given}: expected ${roles.join(', ')}.`);
	return role;
}

function parseScopes(given: string): Scope[] {
	const names = given.split(',').map((one) => one.trim());
	const known = scopes.filter((scope) => names.includes(scope));
	if (known.length === 0 || known.length < new Set(names).size)
		throw new TypeError(`--scope ${given}: expected ${scopes.join(', ')}, or several with commas.`);
	return known;
}

function parseAmount(option: 'day-tokens' | 'day-usd', given: string | undefined, form: RegExp) {
	if (given === undefined) return {};
	const value = Number(given);
	if (!form.test(given) || !(value > 0) || value > Number.MAX_SAFE_INTEGER)
		throw new TypeError(
			`--${option} ${given}: expected a number above 0${option === 'day-tokens' ? ', without a point' : ''}.`,
		);
	return { [option === 'day-tokens' ? 'tokens' : 'usd']: value };
}
