/** The page: the chat and the panels, each at its own address. */

import { createClient } from '../client/index.ts';
import { Chat } from './chat/chat.ts';
import { createChoice } from './chat/choice.ts';
import { createFrame } from './chat/frame.ts';
import { createMoneyView } from './chat/money.ts';
import { createTestSaver } from './chat/test-saver.ts';
import { createMenu } from './menu/menu.ts';
import { createPanelView, panels } from './panels.ts';
import { parseAddress, toSessionAddress } from './parts/address.ts';
import { createAskedBy } from './parts/asked-by.ts';
import { listenForDecisions } from './parts/decide-keys.ts';
import { find } from './parts/element.ts';
import { readKey } from './parts/failure.ts';
import { createAnswerWatch, createPolling, createWindows } from './parts/live.ts';
import { createTraceDrawer, toCurl } from './trace/drawer.ts';

// The API has the same base address as this script, whatever the path of the page is.
const server = {
	baseUrl: new URL('.', import.meta.url).href,
	apiKey: readKey,
	fetch: createWindows((session) => {
		look(session === parseAddress(location.hash).session);
		poll();
	}),
};
const client = createClient(server);
const poll = createPolling(look);
const testSaver = createTestSaver(client);
const menu = createMenu(client, panels, {
	onNews: (changed) => {
		if (changed.has(parseAddress(location.hash).session ?? '')) chat.look();
		panelView.look();
		poll();
	},
	onStaff: () => {
		testSaver.allow();
		document.body.classList.add('staff');
	},
});
const chatRoot = find('#chat', HTMLElement);
chatRoot.append(...createFrame());
const chatServer = {
	...server,
	fetch: createAnswerWatch(server.fetch, () => chat.showAnswer()),
	onRetry: () => chat.showRetry(),
};
const chat: Chat = new Chat(createClient(chatServer), {
	root: document,
	life: new AbortController().signal,
	dropArea: window,
	createMoney: createMoneyView,
	createAskedBy,
	createChoice: (onAgent) => createChoice(client, onAgent),
	onSession: (id) => history.pushState(null, '', toSessionAddress(id)),
	onNew: () => {
		location.hash = '#/';
	},
	onFork: (id) => {
		location.hash = toSessionAddress(id);
	},
	onActivity: () => {
		void menu.refresh();
		showTrace();
		poll();
	},
});
const trace = createTraceDrawer(client, (session) => toCurl(server.baseUrl, session, readKey() !== undefined));
const panelView = createPanelView(find('#panel', HTMLElement), client, menu.refresh);
const chatRoots = [chatRoot, find('#chosen', HTMLElement)];

/** Reads changes that were made elsewhere, such as in another window. */
function look(asksSession: boolean): void {
	void menu.refresh();
	if (!asksSession) return;
	chat.look();
	showTrace();
}

function showTrace(): void {
	const { panel, session } = parseAddress(location.hash);
	trace.show(panel === undefined ? session : undefined);
	testSaver.show(panel === undefined ? session : undefined);
}

function show(): void {
	const address = parseAddress(location.hash);
	const panel = panels.find(({ name }) => name === address.panel);
	menu.point();
	showTrace();
	if (address.trace !== undefined) trace.open(address.trace);
	for (const root of chatRoots) root.hidden = panel !== undefined;
	if (panel === undefined) {
		panelView.close();
		void chat.open(address.session);
	} else {
		chat.close();
		panelView.open(panel);
	}
}

const offline = find('#offline', HTMLElement);
const showOffline = () => {
	offline.hidden = navigator.onLine;
};
addEventListener('online', showOffline);
addEventListener('offline', showOffline);
showOffline();

listenForDecisions();
addEventListener('hashchange', show);
// While a new chat is shown, a click on this link does not change the address, so show the chat here.
find('#new', HTMLElement).addEventListener('click', () => {
	if (/^#?\/?$/.test(location.hash)) show();
});
show();
