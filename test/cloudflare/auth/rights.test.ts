import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
	assertRight,
	findTokenScope,
	hasRight,
	type Right,
	type Role,
	rights,
	roles,
	type TokenScope,
	tokenScopes,
} from '../../../src/cloudflare/auth/rights.ts';
import { RunletError } from '../../../src/core/base/errors.ts';

const all = Object.keys(rights).filter((name): name is Right => name in rights);
const listRights = (role: Role) => all.filter((right) => hasRight(role, right));

describe('the roles', () => {
	test('each have all rights of the lower roles, and more', () => {
		for (const [index, role] of roles.entries()) {
			const before = roles[index - 1];
			const own = listRights(role);
			if (before === undefined) continue;
			expect(own, role).toEqual(expect.arrayContaining(listRights(before)));
			expect(own.length, role).toBeGreaterThan(listRights(before).length);
		}
		expect(listRights('admin')).toEqual(all);
	});

	test('let a customer talk, but neither decide nor administer nor see other people', () => {
		expect(listRights('customer')).toEqual([
			'seeAgents',
			'createSession',
			'listSessions',
			'readSession',
			'sendMessage',
		]);
	});

	test('refuse a missing right with an error that names the required role and the field', () => {
		for (const role of roles)
			for (const right of all) {
				const ask = () => assertRight(role, right, 'user');
				if (hasRight(role, right)) {
					expect(ask, `${role} ${right}`).not.toThrow();
					continue;
				}
				const needs = rights[right].role;
				expect(ask, `${role} ${right}`).toThrow(RunletError);
				expect(ask, `${role} ${right}`).toThrow(
					expect.objectContaining({
						code: 'forbidden',
						message: expect.stringMatching(
							new RegExp(`^user: This needs the role ${needs}.*; this one is ${role}\\.$`),
						),
						data: { right, role: needs, field: 'user' },
					}),
				);
			}
	});
});

describe('a token', () => {
	test('has exactly one right for each of its scopes', () => {
		const byScope = Object.fromEntries(
			tokenScopes.map((scope): [TokenScope, Right[]] => [
				scope,
				all.filter((right) => findTokenScope(right) === scope),
			]),
		);
		expect(byScope).toEqual({ read: ['readSession'], message: ['sendMessage'], approve: ['decide'] });
	});
});

/** The rows of the first table after a heading of docs/keys.md, as plain text. */
function readTable(heading: string): string[][] {
	const text = readFileSync(join(import.meta.dirname, '../../../docs/keys.md'), 'utf8');
	const [, section = ''] = text.split(`\n## ${heading}\n`);
	const lines = section.split('\n');
	const from = lines.findIndex((line) => line.startsWith('|'));
	const length = lines.slice(from).findIndex((line) => !line.startsWith('|'));
	const plain = (cell: string) =>
		cell
			.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
			.replaceAll('`', '')
			.trim();
	const rows = lines.slice(from, from + length).map((line) => line.split('|').slice(1, -1).map(plain));
	return rows.filter((row) => !row.every((cell) => /^-*$/.test(cell)));
}

/** The rights of each row of the table in docs/keys.md, "Roles". */
const rowsOfRoles: Readonly<Record<string, readonly Right[]>> = {
	'see agents and models': ['seeAgents'],
	'create, list and read sessions, send messages, answer questions, give results, continue, stop, files': [
		'createSession',
		'listSessions',
		'readSession',
		'sendMessage',
	],
	'create sessions for others (user, for) and with metadata': ['nameUser'],
	'approve calls, see the inbox and the feedback': ['decide', 'seeInbox'],
	'rename, delete, fork and export sessions; make tokens, links and schedules; call tools without a run': [
		'manageSession',
	],
	'see users, their memories and what they spent; see skills': ['seeUsers', 'seeSkills'],
	'make vectors': ['makeVectors'],
	'raise the budget of a session; create one with more than the agent’s': ['setBudget'],
	'set budgets of users, erase users, write memories': ['manageUsers'],
	'import sessions': ['importSession'],
	'define the owner’s tools and MCP servers, log in to servers': ['setUp'],
	'read what only the operator can mend: words of providers, names of variables (errors), /healthz?deep': [],
};

describe('docs/keys.md', () => {
	test('has the same table of roles as the code', () => {
		const [head = [], sessions, ...rows] = readTable('Roles').map((row) =>
			row.map((cell) => cell.replaceAll("'", '’')),
		);
		expect(head.slice(1)).toEqual(roles);
		expect(sessions).toEqual(['sessions', 'their own', 'all of the owner', 'all of the owner']);
		expect(rows.map(([what]) => what)).toEqual(Object.keys(rowsOfRoles));
		for (const [what = '', ...cells] of rows)
			for (const right of rowsOfRoles[what] ?? [])
				expect(cells, right).toEqual(roles.map((role) => (hasRight(role, right) ? 'yes' : 'no')));
		expect(Object.values(rowsOfRoles).flat().sort()).toEqual(all.toSorted());
	});

	test('lists the scopes of tokens', () => {
		expect(
			readTable('Tokens')
				.slice(1)
				.map(([scope]) => scope),
		).toEqual(tokenScopes);
	});
});
