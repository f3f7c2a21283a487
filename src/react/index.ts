/** `runlet/react`: a chat with an agent as a hook of React (docs/react.md). */
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { Chat, type ChatClient, type ChatOptions, type ChatState } from './chat.ts';

export type { ChatClient, ChatOptions, ChatState, ChatStatus } from './chat.ts';
export type { CallPart, ChatMessage, Part } from './parts.ts';

/** What a component gets: the state of the chat, and what a person can do. */
export type UseRunlet = ChatState & Pick<Chat, 'send' | 'answer' | 'retry' | 'stop'>;

/**
 * Shows a session of an agent, and lets a person talk with it. The client is one of `createClient`, made once outside of the
 * component. If the connection drops, the run is read on from the same place; if the component goes, the run goes on.
 * With another `session` the hook shows that session; the id that `onCreate` got changes nothing. The functions reject with a
 * `ClientError`, which is in `error`, too.
 */
export function useRunlet(client: ChatClient, options: ChatOptions): UseRunlet {
	const { session } = options;
	const latest = useRef(options);
	latest.current = options;
	const open = () => ({ client, session, chat: new Chat(client, session, () => latest.current) });
	const [held, setHeld] = useState(open);
	let shown = held;
	if (held.client !== client || (session !== held.session && session !== held.chat.id)) shown = open();
	else if (session !== held.session) shown = { ...held, session };
	if (shown !== held) setHeld(shown);
	const { chat } = shown;
	useEffect(() => chat.open(), [chat]);
	const state = useSyncExternalStore(chat.subscribe, chat.getState, chat.getState);
	const { send, answer, retry, stop } = chat;
	return { ...state, send, answer, retry, stop };
}
