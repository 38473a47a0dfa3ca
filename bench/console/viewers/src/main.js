// The log view of @melloware/react-logviewer as its documentation recommends it for a whole file. ?url=… is the log.
import { LazyLog } from '@melloware/react-logviewer';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';

const url = new URLSearchParams(location.search).get('url');
createRoot(document.getElementById('root')).render(createElement(LazyLog, { url, enableSearch: true }));
