import type { ReactNode } from 'react';

// Icons of our own: a package of icons has 18,000 files, and the page needs two dozen.

interface IconProps {
  readonly size?: number;
}

function icon(shape: ReactNode, filled = false) {
  // biome-ignore lint/correctness/noComponentHookFactories: called once for each icon, when the page starts.
  return function Icon({ size = 16 }: IconProps) {
    return (
      <svg
        width={size}
        height={size}
        viewBox="0 0 16 16"
        fill={filled ? 'currentColor' : 'none'}
        stroke={filled ? 'none' : 'currentColor'}
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        focusable="false"
      >
        {shape}
      </svg>
    );
  };
}

export const QueuedIcon = icon(
  <path d="M8 1.750a6.250 6.250 0 1 1 0 12.500a6.250 6.250 0 0 1 0-12.500zM8 4.750V8l2.250 1.500" />,
);
export const StartingIcon = icon(
  <>
    <circle cx="8" cy="8" r="6.250" />
    <path d="M8 4v4h4a4 4 0 0 0-4-4z" fill="currentColor" />
  </>,
);
export const RunningIcon = icon(
  <path d="M4 2.300c0-.6.650-1 1.200-.7l8.300 5.200a.85.85 0 0 1 0 1.400l-8.300 5.500c-.550.350-1.200 0-1.200-.7z" />,
  true,
);
export const RestartingIcon = icon(<path d="M13.500 2.500v3.750H9.750M13.200 6.200A5.750 5.750 0 1 0 13.750 9" />);
export const SuspendedIcon = icon(
  <>
    <rect x="3.500" y="2.500" width="3" height="11" rx="1" />
    <rect x="9.500" y="2.500" width="3" height="11" rx="1" />
  </>,
  true,
);
export const SucceededIcon = icon(<path d="m2.750 8.500 3.500 3.750 7-8.500" strokeWidth="2" />);
export const FailedIcon = icon(<path d="m3.500 3.500 9 9m0-9-9 9" strokeWidth="2" />);
export const WarningIcon = icon(<path d="M8 2.250 14.500 13.500h-13zM8 6.500v3.250M8 11.600v.1" />);
export const DeletingIcon = icon(<path d="M5.500 3h8.250v10H5.500L1.750 8zM8 6.250l3.500 3.500m0-3.500L8 9.750" />);
export const UnknownIcon = icon(<path d="M5.500 5.750A2.500 2.500 0 1 1 8 8.250V9.500M8 12.400v.1" />);
export const MissingIcon = icon(<path d="M3 8h10" strokeDasharray="2 2.500" />);

export const JobsIcon = icon(<path d="M2 3.500h12M2 8h12M2 12.500h7.500" />);
export const NodesIcon = icon(
  <>
    <rect x="2" y="2.500" width="12" height="4.500" rx="1" />
    <rect x="2" y="9" width="12" height="4.500" rx="1" />
    <path d="M4.500 4.750h.1M4.500 11.250h.1" />
  </>,
);
export const PlusIcon = icon(<path d="M8 2.500v11M2.500 8h11" />);
export const SearchIcon = icon(
  <>
    <circle cx="7" cy="7" r="4.500" />
    <path d="m10.500 10.500 3.500 3.500" />
  </>,
);
export const CloseIcon = icon(<path d="m4 4 8 8m0-8-8 8" />);
export const SunIcon = icon(
  <>
    <circle cx="8" cy="8" r="3" />
    <path d="M8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1.100 1.100M11.900 11.900 13 13M13 3l-1.100 1.100M4.100 11.900 3 13" />
  </>,
);
export const MoonIcon = icon(<path d="M13.500 9.750A6 6 0 0 1 6.250 2.500a6 6 0 1 0 7.250 7.250z" />);
export const LanguageIcon = icon(
  <>
    <circle cx="8" cy="8" r="6.250" />
    <path d="M1.750 8h12.500M8 1.750c4 4 4 8.500 0 12.500c-4-4-4-8.500 0-12.500z" />
  </>,
);
export const ColumnsIcon = icon(<path d="M2 2.500h12v11H2zM6 2.500v11M10 2.500v11" />);
export const ChevronIcon = icon(<path d="m4 6 4 4 4-4" />);
export const PreviousIcon = icon(<path d="m10 4-4 4 4 4" />);
export const NextIcon = icon(<path d="m6 4 4 4-4 4" />);
export const UpIcon = icon(<path d="m4 10 4-4 4 4" />);
export const CopyIcon = icon(<path d="M5.500 5.500h8v8h-8zM3 10.500H2.500v-8h8V3" />);
export const DownloadIcon = icon(<path d="M8 2v8m0 0L4.500 6.500M8 10l3.500-3.500M2.500 13.500h11" />);
export const FolderIcon = icon(<path d="M1.750 12.500v-9h4.500l1.500 2h6.500v7z" />);
export const RecordingIcon = icon(
  <>
    <circle cx="8" cy="8" r="6.250" />
    <circle cx="8" cy="8" r="2.250" fill="currentColor" />
  </>,
);
export const LinkIcon = icon(
  <path d="M6.750 9.250a2.750 2.750 0 0 0 4 0l2-2a2.800 2.800 0 0 0-4-4l-.75.75M9.250 6.750a2.750 2.750 0 0 0-4 0l-2 2a2.800 2.800 0 0 0 4 4l.75-.75" />,
);
export const TrashIcon = icon(<path d="M2.500 4h11M6 4V2.500h4V4M4 4l.5 9.500h7L12 4M6.750 6.750v4M9.250 6.750v4" />);
export const KeyboardIcon = icon(
  <>
    <rect x="1.500" y="4" width="13" height="8.500" rx="1" />
    <path d="M4 6.750h.1M6.600 6.750h.1M9.300 6.750h.1M11.900 6.750h.1M5 10h6" />
  </>,
);
export const ArrowDownIcon = icon(<path d="M8 2.500v11m0 0-4-4m4 4 4-4" />);
export const ScaleIcon = icon(<path d="M9.500 2.500h4v4M6.500 13.500h-4v-4M13.500 2.500 9 7M2.500 13.500 7 9" />);
export const TemplateIcon = icon(<path d="M2.500 2.500h11v3.500h-11zM2.500 9h5v4.500h-5zM10.500 9h3v4.500h-3z" />);
export const QueueIcon = icon(<path d="M2 4h3v8H2zM6.500 4h3v8h-3zM11 4h3v8h-3z" />);
export const UserIcon = icon(
  <>
    <circle cx="8" cy="5.250" r="2.750" />
    <path d="M2.500 14c.750-3 3-4.250 5.500-4.250s4.750 1.250 5.500 4.250" />
  </>,
);
export const MoreIcon = icon(
  <>
    <circle cx="3" cy="8" r="1.4" />
    <circle cx="8" cy="8" r="1.4" />
    <circle cx="13" cy="8" r="1.4" />
  </>,
  true,
);
