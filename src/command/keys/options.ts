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

function parseRate(text: string): number {
	if (/^[1-9]\d{0,6}$/.test(text) && Number(text) <= 1_000_000) return Number(text);
	throw new TypeError(`--rate ${text}: expected a whole number of requests from 1 to 1000000.`);
}

function parseRole(text: string): Role {
	const role = roles.find((one) => one === text);
	if (role === undefined) throw new TypeError(`--role ${text}: expected ${roles.join(', ')}.`);
	return role;
}

function parseScopes(text: string): Scope[] {
	const names = text.split(',').map((one) => one.trim());
	const known = scopes.filter((scope) => names.includes(scope));
	if (known.length === 0 || known.length < new Set(names).size)
		throw new TypeError(`--scope ${text}: expected ${scopes.join(', ')}, or several with commas.`);
	return known;
}

function parseAmount(option: 'day-tokens' | 'day-usd', text: string | undefined, form: RegExp) {
	if (text === undefined) return {};
	const value = Number(text);
	if (!form.test(text) || !(value > 0) || value > Number.MAX_SAFE_INTEGER)
		throw new TypeError(
			`--${option} ${text}: expected a number above 0${option === 'day-tokens' ? ', without a point' : ''}.`,
		);
	return { [option === 'day-tokens' ? 'tokens' : 'usd']: value };
}
