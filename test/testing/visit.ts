/** A session of the shop that has almost everything. */
import { callTool, callTools } from '../../src/testing/index.ts';
import { request } from '../client.ts';
import { play } from '../script.ts';
import { record } from './record.ts';

/** Sends a message. */
export const say = async (id: string, text: string) => (await request(`/v1/sessions/${id}/messages`, { text })).json();

/** Records a session with lookups, failures, an edited approval, a question, files, notes, a picture, a child and a halt. */
export async function recordVisit(): Promise<object> {
	const metadata = { shop: 'Ada’s shop' };
	const made = await request('/v1/sessions', { agent: 'replayed-shop', metadata });
	const { id } = await made.json<{ id: string }>();
	play(callTools(['find_order', { id: 'A-1' }], ['find_order', { id: 'none' }], ['refund', { id: 'A-1' }]), 'Sent.');
	await say(id, 'Where is A-1?');
	play({ toolCalls: [{ id: 'r', name: 'refund', input: { id: 'A-1', euros: 80 } }] }, 'Refunded.');
	await say(id, 'Give me 80 euros back.');
	await request(`/v1/sessions/${id}/tool-results`, [{ id: 'r', approve: true, input: { id: 'A-1', euros: 60 } }]);
	play(callTool('refund', { id: 'A-1', euros: 50 }), 'Refunded.');
	await say(id, 'And 50.');
	play(callTool('ask_color'));
	await say(id, 'A bag, please.');
	play(callTool('note', { text: 'red' }), callTool('read_notes'), 'Noted.');
	await say(id, 'red');
	play(
		callTool('save', { path: 'a.txt', text: 'A bag' }),
		callTool('load', { path: 'a.txt' }),
		callTool('picture'),
		'Here.',
	);
	await say(id, 'Write it down.');
	play(callTool('pack', { task: 'Pack A-1.' }), callTool('wrap', { paper: 'red' }), 'Wrapped.', 'Packed.');
	await say(id, 'Pack it.');
	play(callTool('read_skill', { name: 'tone' }), callTool('close'));
	await say(id, 'Good night.');
	return record(id);
}
