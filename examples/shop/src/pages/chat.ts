/** The page of a customer. The shop says which conversations there are and gives their tokens; with a token the page streams. */
import { ClientError, createClient, type RunEvents, type Session } from 'runlet/client';
import * as v from 'valibot';
import { createButton, createElement, find } from './dom.ts';

const chats = find('#chats', HTMLUListElement);
const transcript = find('#transcript', HTMLElement);
const problem = find('#problem', HTMLElement);
const composer = find('#composer', HTMLFormElement);
const text = find('#text', HTMLInputElement);

/** How often the page looks whether somebody else has gone on: a colleague who allowed a call, or an agent in the background. */
const lookMs = 2_000;

interface Chat {
	readonly id: string;
	readonly token: string;
	/** Aborts when another conversation is opened. */
	readonly left: AbortController;
	/** The state that the page shows. */
	state: string;
}

let chat: Chat | undefined;
/** What the page does, one thing after another, and how much of it is not done yet. */
let last: Promise<unknown> = Promise.resolve();
let waiting = 0;
const runlet = createClient({ baseUrl: '/ai', apiKey: () => chat?.token });

const chatList = v.object({
	sessions: v.array(v.object({ id: v.string(), title: v.optional(v.string(), 'New conversation') })),
});
const newChat = v.object({ id: v.string(), token: v.string() });
const newToken = v.object({ token: v.string() });

/** Asks the shop, which knows by the cookie who asks. */
async function askShop<S extends v.GenericSchema>(method: 'GET' | 'POST', path: string, schema: S) {
	const answer = await fetch(path, { method });
	if (answer.status === 401) location.assign('/');
	if (!answer.ok) throw new ClientError('shop', `The shop does not answer (${answer.status}).`);
	return v.parse(schema, await answer.json());
}

async function begin(): Promise<void> {
	await open(await askShop('POST', '/chats', newChat));
	await listChats();
}

async function goOn(id: string): Promise<void> {
	await open({ id, ...(await askShop('POST', `/chats/${id}/token`, newToken)) });
}

/** Opens the newest conversation, or begins the first one. */
async function openNewest(): Promise<void> {
	const [newest] = await listChats();
	await (newest === undefined ? begin() : goOn(newest.id));
}

async function listChats() {
	const { sessions } = await askShop('GET', '/chats', chatList);
	const entries = sessions.map(({ id, title }) => {
		return createElement(
			'li',
			'',
			createButton(title, () => leaveFor(() => goOn(id))),
		);
	});
	chats.replaceChildren(...entries);
	return sessions;
}

function open(opened: v.InferOutput<typeof newChat>): Promise<void> {
	chat = { ...opened, left: new AbortController(), state: '' };
	return show(chat);
}

/** Shows a conversation: what was said, and then the newest run, from its start and as it goes on. */
async function show(shown: Chat): Promise<void> {
	const { id, left } = shown;
	const { messages } = await runlet.loadSession(id, { signal: left.signal });
	transcript.replaceChildren();
	for (const { role, content } of messages) {
		if (role === 'user') addQuestion(content);
		if (role === 'assistant' && content !== '') add('answer', content);
	}
	await play(shown, runlet.followRun(id, { signal: left.signal }));
}

/** Shows a run as it comes. */
async function play(shown: Chat, events: RunEvents): Promise<void> {
	let answer: HTMLElement | undefined;
	for await (const event of events) {
		switch (event.type) {
			case 'text':
				answer ??= add('answer', '');
				answer.append(event.text);
				break;
			case 'turn.restarted':
				answer?.remove();
				answer = undefined;
				break;
			case 'step':
				answer = undefined;
				break;
			case 'awaiting':
				add('note', event.question?.question ?? 'A colleague has to allow this. You can close the page meanwhile.');
				break;
			case 'error':
				add('note', event.message);
				break;
		}
	}
	shown.state = toState(await runlet.getSession(shown.id, { signal: shown.left.signal }));
}

/** Messages that did not come from the customer. */
const fromElsewhere = /^(?:Payment service: |[\w-]+ \(session [\da-f]+\) )/;

function addQuestion(said: string): void {
	// What an agent in the background found out is said by the answer to it.
	if (said.startsWith('researcher (')) return;
	add(fromElsewhere.test(said) ? 'note' : 'question', said);
}

function add(className: 'question' | 'answer' | 'note', content: string): HTMLElement {
	const element = createElement('p', className, content);
	transcript.append(element);
	element.scrollIntoView({ block: 'end' });
	return element;
}

function toState({ run, status }: Session): string {
	return `${run?.id} ${status}`;
}

/** Does one thing after another, and says what goes wrong. */
function work(task: () => Promise<unknown>): void {
	waiting += 1;
	last = last.then(task).then(
		() => {
			waiting -= 1;
		},
		(error: unknown) => {
			waiting -= 1;
			if (error instanceof ClientError && error.status === 401) location.assign('/');
			// Another conversation was opened.
			if (error instanceof DOMException && error.name === 'AbortError') return;
			problem.textContent = error instanceof Error ? error.message : String(error);
		},
	);
}

/** Leaves the conversation that is shown, and opens another one. */
function leaveFor(task: () => Promise<unknown>): void {
	problem.textContent = '';
	chat?.left.abort();
	work(task);
}

composer.addEventListener('submit', (event) => {
	event.preventDefault();
	const said = text.value.trim();
	const to = chat;
	if (said === '' || to === undefined) return;
	problem.textContent = '';
	composer.reset();
	work(async () => {
		addQuestion(said);
		await play(to, runlet.sendMessage(to.id, said, { signal: to.left.signal }));
		await listChats();
	});
});

find('#new', HTMLButtonElement).addEventListener('click', () => leaveFor(begin));

setInterval(() => {
	const seen = chat;
	if (waiting > 0 || document.hidden || seen === undefined) return;
	work(async () => {
		const session = await runlet.getSession(seen.id, { signal: seen.left.signal });
		if (toState(session) !== seen.state) await show(seen);
	});
}, lookMs);

work(openNewest);
