import { request } from '../../client.ts';

export interface WireMemory {
	readonly path: string;
	readonly text: string;
	readonly version: string;
	readonly source: Readonly<Record<string, string>>;
	readonly createdAt: string;
	readonly updatedAt: string;
}

/** A new user for each test. */
export const createUser = (): string => `user ${crypto.randomUUID()}`;

const toAddress = (user: string, path = '', more: Record<string, string> = {}) =>
	`/v1/memories${path === '' ? '' : `/${path}`}?${new URLSearchParams({ user, ...more })}`;

export const putMemory = (user: string, path: string, text: string, headers: Record<string, string> = {}) =>
	request(toAddress(user, path), { text }, headers, 'PUT');
export const getMemory = (user: string, path: string) => request(toAddress(user, path));
export const deleteMemory = (user: string, path = '', headers: Record<string, string> = {}) =>
	request(toAddress(user, path), undefined, headers, 'DELETE');

export async function listMemories(user: string, more: Record<string, string> = {}): Promise<readonly WireMemory[]> {
	return (await (await request(toAddress(user, '', more))).json<{ memories: WireMemory[] }>()).memories;
}

export const readTexts = async (user: string): Promise<Record<string, string>> =>
	Object.fromEntries((await listMemories(user)).map(({ path, text }) => [path, text]));

export async function createSessionFor(user: string, agent = 'keeper'): Promise<string> {
	const { id } = await (await request('/v1/sessions', { agent, user })).json<{ id: string }>();
	return id;
}

export interface Ended {
	readonly status: string;
	readonly text?: string;
	readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly kind?: string }[];
}

export async function say(id: string, text = 'Go.', more: object = {}): Promise<Ended> {
	return (await request(`/v1/sessions/${id}/messages`, { text, ...more })).json();
}

export async function decide(id: string, call: string, approve: boolean): Promise<Ended> {
	return (await request(`/v1/sessions/${id}/tool-results`, [{ id: call, approve }])).json();
}
